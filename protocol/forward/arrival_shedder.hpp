#pragma once
// Which requests to reject when more arrive than one thread can read. They wait in the kernel, all
// alike and uncounted (load_shedder.hpp counts requests read). The signal is a probe that waits as
// they do; a share of requests is rejected, as their number is unknown. The caller passes times.

#include "protocol/base/random.hpp"
#include "protocol/forward/load_shedder.hpp"

#include <array>
#include <cstddef>
#include <optional>

namespace belay::forward {

/// The accepted share is adapted to what can be served within delay_max.
/// Writes are rejected first: reads only when all writes are.
class arrival_shedder {
public:
  explicit arrival_shedder(shedding_rules r) : rules_(r) {}

  /// A request was read. @returns false: reject it
  bool admits(request_class c);

  /// A probe starts to wait after the requests already there. @pre the previous one was served
  void begin_probe(local_time now);
  /// Call with each request: detects a probe that waits too long before it is served.
  /// @param unfinished load of requests without a response
  void look(local_time now, std::size_t unfinished);
  void probe_served(local_time now, std::size_t unfinished);

  bool refusing() const { return share_.has_value(); }
  /// Share of writes and reads that is accepted: above 0, at most 1.
  double share() const { return share_.value_or(1); }

private:
  void assess(std::chrono::nanoseconds delay);
  void divide();

  shedding_rules rules_;
  local_time since_{}, next_look_{};
  bool waits_ = false;              ///< a probe
  bool assessed_ = false;           ///< before it was served
  std::size_t came_with_probe_ = 0; ///< while it waited
  // Since a delay was evaluated:
  std::array<std::size_t, 3> came_{}; ///< by class
  bool refused_ = false;
  int late_ = 0; ///< delays in a row
  std::optional<double> share_;
  std::array<double, 3> refused_share_{}; ///< by class
  seeded_random random_{1};               ///< so that rejections do not always hit the same client
};

} // namespace belay::forward
