#include "protocol/forward/arrival_shedder.hpp"

#include <algorithm>
#include <utility>

namespace belay::forward {

namespace {

// The smallest share of requests that is admitted. With fewer, the shedder could not measure how
// much load the server can take.
constexpr double share_min = 1.0 / 64;

constexpr auto writes = static_cast<std::size_t>(request_class::write);
constexpr auto reads = static_cast<std::size_t>(request_class::read);

} // namespace

bool arrival_shedder::admits(request_class c) {
  const auto kind_index = static_cast<std::size_t>(c);
  ++came_[kind_index];
  ++came_with_probe_;
  if (!share_)
    return true;
  constexpr std::uint64_t parts = 1u << 20;
  const bool admitted =
      static_cast<double>(random_.below(parts)) >= refused_share_[kind_index] * static_cast<double>(parts);
  refused_ = refused_ || !admitted;
  return admitted;
}

void arrival_shedder::begin_probe(local_time now) {
  since_ = now;
  next_look_ = now + rules_.delay_max;
  waits_ = true;
  assessed_ = false;
  came_with_probe_ = 0;
}

void arrival_shedder::look(local_time now, std::size_t unfinished) {
  if (!waits_ || now <= next_look_ || rules_.delay_max.count() == 0 || came_with_probe_ + unfinished <= rules_.load_min)
    return;
  next_look_ = now + load_shedder::window;
  assessed_ = true;
  assess(now - since_);
}

void arrival_shedder::probe_served(local_time now, std::size_t unfinished) {
  if (!std::exchange(waits_, false) || assessed_ || rules_.delay_max.count() == 0)
    return;
  // The requests that were read while the probe waited have waited about as long as the probe. A
  // few slow requests are not an overload.
  const bool many = came_with_probe_ + unfinished > rules_.load_min;
  assess(many ? now - since_ : std::chrono::nanoseconds{});
}

void arrival_shedder::assess(std::chrono::nanoseconds delay) {
  const bool late = delay > rules_.delay_max;
  late_ = late ? late_ + 1 : 0;
  const bool refused = std::exchange(refused_, false);
  if (share_ && !late && !refused)
    share_.reset();
  else if (share_ || late_ >= late_before_shedding)
    share_ = std::clamp(share() * step_to(rules_.delay_max, delay), share_min, 1.0);
  divide();
  came_ = {};
}

/// Predicts from the last arrivals how many of each class to reject to keep the share.
void arrival_shedder::divide() {
  if (!share_)
    return;
  const auto all_writes = static_cast<double>(came_[writes]), all_reads = static_cast<double>(came_[reads]);
  const auto too_many = (1 - *share_) * (all_writes + all_reads);
  refused_share_[writes] = std::min(1.0, too_many / std::max(1.0, all_writes));
  refused_share_[reads] = std::clamp((too_many - all_writes) / std::max(1.0, all_reads), 0.0, 1.0);
}

} // namespace belay::forward
