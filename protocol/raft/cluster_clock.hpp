#pragma once
// Cluster time as a leader stamps it on entries: it goes on from the last entry's with the leader's monotonic clock, from the
// moment it became the leader. Wall clocks differ between servers and are set; if entries carried them, one leader with
// a wrong one would end every lock-delay, or keep it for a year. What passes between the last entry of one leader and
// the beginning of the next is not counted, so a delay may last longer by that gap, and is never shorter.

#include "protocol/raft/core.hpp"

namespace belay::raft {

class cluster_clock {
public:
  /// This node leads in that term, since now.
  /// @param last of the last entry of its log; zero, in a log without a command: `wall`, milliseconds since 1970, is the
  /// beginning, so that cluster times look like times
  void begin(term_id term, cluster_time last, cluster_time wall, local_time now) {
    term_ = term;
    base_ = last.value == 0 ? wall : last;
    since_ = now;
  }
  /// Of the leadership that it was begun for; zero: never.
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
