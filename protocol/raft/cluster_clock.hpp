#pragma once
// Cluster time, which the leader stamps on entries: it continues the last entry's time with its own
// monotonic clock, from the moment it became leader. Wall clocks differ and get set: a leader with
// a wrong one could end every lock-delay, or prolong it by a year. The time from one leader's last
// entry to the next leader's start does not count: a delay may be longer by it, never shorter.

#include "protocol/raft/core.hpp"

namespace belay::raft {

class cluster_clock {
public:
  /// This node leads in that term from now on.
  /// @param last time of the last entry of its log; zero if the log has no command. Then time
  /// starts at `wall`, milliseconds since 1970, so that cluster times look like wall-clock times.
  void begin(term_id term, cluster_time last, cluster_time wall, local_time now) {
    PRECONDITION(term >= term_);
    term_ = term;
    base_ = last.value == 0 ? wall : last;
    since_ = now;
  }
  /// Term that begin() was called with; zero: never.
  term_id term() const { return term_; }
  cluster_time at(local_time now) const {
    const auto gone = std::chrono::duration_cast<std::chrono::milliseconds>(now - since_).count();
    return cluster_time{base_.value + static_cast<std::uint64_t>(gone > 0 ? gone : 0)};
  }

private:
  term_id term_;
  cluster_time base_;
  local_time since_{0};
};

} // namespace belay::raft
