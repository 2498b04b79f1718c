#pragma once
// Decides whether a server makes progress, and so whether to feed its watchdog.

#include <chrono>
#include <cstdint>

namespace belay::actors {

/// Progress counters of the parts that must not stall, since the start; they never fall.
struct turns {
  std::uint64_t front = 0; ///< HTTP sockets were polled, and requests handled
  std::uint64_t raft = 0;
};

/// A part is stalled if its counter has not risen for half of the watchdog's time. The other half
/// is the manager's: a stalled server ends after 1 to 1.5 times that. There is one monotonic clock.
class stall_watch {
public:
  using time = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;

  /// How long each part has made no progress.
  struct verdict {
    duration front{}, raft{};
    bool front_moves = true, raft_moves = true;
    bool feed() const { return front_moves && raft_moves; }
  };

  /// @param limit the watchdog's time, above 0; counters rise 4 times a second: not below 2 s
  stall_watch(duration limit, time now) : limit_(limit), front_{0, now}, raft_{0, now} {}

  /// Required polling interval.
  duration period() const { return limit_ / 4; }
  /// @pre now is not smaller than before
  verdict look(turns seen, time now);

private:
  struct part {
    std::uint64_t turns;
    time moved;
    duration stands_still(std::uint64_t seen, time now);
  };

  duration limit_;
  part front_, raft_;
};

} // namespace belay::actors
