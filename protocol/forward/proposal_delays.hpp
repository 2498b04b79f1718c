#pragma once
// Time from a command's arrival at the leader to its commit: one sample per proposed batch.

#include "protocol/forward/requests.hpp"

#include <deque>
#include <optional>

namespace belay::forward {

class proposal_delays {
public:
  /// A batch was proposed.
  /// @param last index of its last entry
  /// @param arrived when its command came
  void proposed(log_index last, local_time arrived) { waiting_.push_back({last, arrived}); }
  /// @returns the delay of the newest batch committed now; nullopt: none
  std::optional<std::chrono::nanoseconds> committed(log_index commit, local_time now) {
    std::optional<std::chrono::nanoseconds> delay;
    while (!waiting_.empty() && waiting_.front().last <= commit) {
      delay = now - waiting_.front().arrived;
      waiting_.pop_front();
    }
    return delay;
  }
  /// Leadership was lost.
  void forget() { waiting_.clear(); }

private:
  struct batch {
    log_index last;
    local_time arrived{0};
  };
  std::deque<batch> waiting_;
};

} // namespace belay::forward
