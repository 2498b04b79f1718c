#pragma once
// Decides whether a server makes progress, and so whether to feed its watchdog.

#include <chrono>
#include <cstdint>

namespace belay::actors {

/// Progress counters of the parts that must not stall, since the start; they never fall.
struct progress_counts {
  std::uint64_t http = 0; ///< HTTP sockets were polled, and requests handled
  std::uint64_t raft = 0;
};

/// A part is stalled if its counter has not risen for half of the watchdog's time. The other half
/// is the manager's: a stalled server ends after 1 to 1.5 times that. All times are from one
/// monotonic clock.
class watchdog {
public:
  using time = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;

  /// How long each part has made no progress.
  struct decision {
    duration http{}, raft{};
    bool http_moves = true, raft_moves = true;
    bool feed() const { return http_moves && raft_moves; }
  };

  /// @param limit the watchdog's time, above 0; counters rise 4 times a second: not below 2 s
  watchdog(duration limit, time now) : limit_(limit), http_{0, now}, raft_{0, now} {}

  /// Required polling interval.
  duration period() const { return limit_ / 4; }
  /// @pre now is not smaller than before
  decision look(progress_counts seen, time now);

private:
  struct part {
    std::uint64_t count;
    time moved;
    duration stalled_for(std::uint64_t seen, time now);
  };

  duration limit_;
  part http_, raft_;
};

} // namespace belay::actors
