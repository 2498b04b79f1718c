#pragma once
// Decides whether a server that runs also moves: whether its watchdog is to be fed.

#include <chrono>
#include <cstdint>

namespace belay::actors {

/// How often the parts that must not stand still have had their turn since the start; they never go back.
struct turns {
  std::uint64_t front = 0; ///< HTTP was looked at, and what is answered there
  std::uint64_t raft = 0;
};

/// A part stands still when it has had no turn for half of the watchdog's time. The other half is the service manager's: a stalled server
/// is ended between one and one and a half of that time after its last turn. All times are of one monotonic clock.
class stall_watch {
public:
  using time = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;

  /// How long each part has had no turn.
  struct verdict {
    duration front{}, raft{};
    bool front_moves = true, raft_moves = true;
    bool feed() const { return front_moves && raft_moves; }
  };

  /// @param limit the watchdog's time, above 0; parts take turns four times a second at least, so that less than 2 s means little
  stall_watch(duration limit, time now) : limit_(limit), front_{0, now}, raft_{0, now} {}

  /// So often it has to be asked.
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
