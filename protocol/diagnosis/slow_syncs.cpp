#include "protocol/diagnosis/slow_syncs.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace belay::diagnosis {

std::size_t slow_syncs::bucket_of(std::chrono::nanoseconds d) {
  const auto v = static_cast<std::uint64_t>(std::max<std::int64_t>(d.count(), 0));
  if (v < std::uint64_t{1} << first_power)
    return 0;
  const auto power = static_cast<unsigned>(std::bit_width(v)) - 1;
  if (power > last_power)
    return buckets - 1;
  return std::size_t{power - first_power} * parts + ((v >> (power - 2)) & (parts - 1));
}

std::chrono::nanoseconds slow_syncs::end_of(std::size_t bucket) {
  const auto power = first_power + bucket / parts;
  const auto part = bucket % parts + 1;
  return std::chrono::nanoseconds((std::int64_t{1} << power) + (static_cast<std::int64_t>(part) << (power - 2)));
}

void slow_syncs::forget_old(std::int64_t present) {
  const auto oldest_kept = present - static_cast<std::int64_t>(minutes_kept) + 1;
  for (auto& m : minutes_) {
    if (m.number < 0 || m.number >= oldest_kept)
      continue;
    for (std::size_t i = 0; i < buckets; ++i) {
      hour_[i] -= m.count[i];
      hour_count_ -= m.count[i];
    }
    m = {};
  }
}

std::chrono::nanoseconds slow_syncs::median() const {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < buckets; ++i)
    if ((below += hour_[i]) * 2 >= hour_count_ && hour_count_ > 0)
      return end_of(i);
  return std::chrono::nanoseconds(0);
}

std::optional<slow_syncs::finding> slow_syncs::took(std::chrono::nanoseconds duration, local_time now) {
  const auto present = std::chrono::duration_cast<std::chrono::minutes>(now).count();
  if (present != newest_minute_) {
    forget_old(present);
    newest_minute_ = present;
  }
  auto& m = minutes_[static_cast<std::size_t>(present) % minutes_kept];
  m.number = present;
  const auto bucket = bucket_of(duration);
  ++m.count[bucket];
  ++hour_[bucket];
  ++hour_count_;
  longest_ = std::max(longest_, duration);

  const auto usual = median();
  while (!slow_.empty() && now - slow_.front() >= rules_.window)
    slow_.pop_front();
  if (duration > rules_.slow_min && duration > usual * rules_.medians) {
    slow_.push_back(now);
    if (slow_.size() > rules_.slow_count)
      slow_.pop_front();
  }
  const bool many = slow_.size() >= rules_.slow_count;
  const bool quiet = found_at_ && now - *found_at_ < rules_.quiet;
  // A long one in a minute that already had a report is included in the next report.
  if (quiet || (!many && longest_ <= rules_.long_one))
    return std::nullopt;
  found_at_ = now;
  return finding{std::exchange(longest_, std::chrono::nanoseconds(0)), usual, slow_.size()};
}

} // namespace belay::diagnosis
