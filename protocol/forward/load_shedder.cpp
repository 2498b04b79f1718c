#include "protocol/forward/load_shedder.hpp"

#include <algorithm>
#include <utility>

namespace belay::forward {

namespace {

// Max change of the limit in one window, as a factor.
constexpr double least_step = 0.5, largest_step = 1.25;

} // namespace

double step_to(std::chrono::nanoseconds delay_max, std::chrono::nanoseconds delay) {
  const auto ratio =
      static_cast<double>(delay_max.count()) / static_cast<double>(std::max<std::int64_t>(1, delay.count()));
  return std::clamp(ratio, least_step, largest_step);
}

void load_shedder::waited(stage s, std::chrono::nanoseconds delay) {
  auto& least = least_[static_cast<std::size_t>(s)];
  least = least ? std::min(*least, delay) : delay;
}

/// The longest of the stages' minimum delays; nullopt: nothing was finished.
std::optional<std::chrono::nanoseconds> load_shedder::take_delay() {
  std::optional<std::chrono::nanoseconds> longest;
  for (auto& least : least_) {
    longest = std::max(longest, least); // nullopt is less than any time
    least.reset();
  }
  return longest;
}

std::size_t load_shedder::fitted(std::size_t load, std::chrono::nanoseconds delay) const {
  const auto fitting = static_cast<double>(load) * step_to(rules_.delay_max, delay);
  return std::max(rules_.load_min, static_cast<std::size_t>(fitting));
}

void load_shedder::look(local_time now, std::size_t load) {
  if (rules_.delay_max.count() == 0)
    return;
  if (!window_began_)
    window_began_ = now;
  if (now - *window_began_ < window)
    return;
  window_began_ = now;
  const auto delay = take_delay();
  const bool refused = std::exchange(refused_, false);
  const bool late = delay && *delay > rules_.delay_max;
  if (delay) // if nothing is finished, for example without a leader, nothing is known
    late_windows_ = late ? late_windows_ + 1 : 0;
  if (limit_ && !late && !refused)
    limit_.reset();
  else if (limit_ && delay)
    limit_ = fitted(*limit_, *delay);
  else if (late && late_windows_ >= late_before_shedding && load > rules_.load_min)
    limit_ = fitted(load, *delay);
}

bool load_shedder::admits(request_class c, std::size_t load) {
  if (!limit_ || c == request_class::vital)
    return true;
  // Rejects reads only if there are too many even without writes.
  const auto most = c == request_class::write ? *limit_ : 2 * *limit_;
  const bool admitted = load < most;
  refused_ = refused_ || !admitted;
  return admitted;
}

} // namespace belay::forward
