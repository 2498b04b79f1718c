#pragma once
// How a running server leaves its cluster: it transfers leadership if it leads,
// then asks the leader to remove it. It never leaves the others without a quorum.

#include "protocol/base/result.hpp"
#include "protocol/raft/core.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace belay::forward {

/// Why that server must not be removed: the rest has no majority among `reachable`. nullopt: it
/// may.
/// @param reachable the servers that respond; `leaving_member` may be one of them
std::optional<std::string> too_few_without(const raft::configuration& now, node_id leaving_member,
                                           const std::vector<node_id>& reachable);

class departure {
public:
  using time = std::chrono::nanoseconds;

  /// Transfer leadership to another server; try again later.
  struct transfer {
    node_id to;
  };
  /// Send forward::let_leave to the leader, and call answered() with its reply.
  struct ask_leader {};
  /// Try again later.
  struct wait {};
  /// Finished. ok: this server belongs to no cluster, or is the whole cluster.
  struct over {
    status how;
  };
  using step = std::variant<transfer, ask_leader, wait, over>;

  /// What a server knows of its cluster.
  struct situation {
    node_id self;
    node_id leader;      ///< zero: unknown
    bool serves = false; ///< it leads, and its term has a committed entry
    const raft::configuration& config;
    const std::vector<node_id>& reachable; ///< by the leader; otherwise unused
  };
  step next(const situation& here, time now);
  void answered(status how) { answer_ = std::move(how); }

private:
  // A transfer takes two round trips and a write; then the next candidate is tried.
  static constexpr std::chrono::milliseconds transfer_limit{1500};
  // A newly elected leader has not received from all of its followers yet.
  static constexpr std::chrono::milliseconds timeout{1500};
  // Candidates may be leaving, too; then the leader removes itself, which costs an election.
  static constexpr std::size_t transfers_max = 2;

  std::optional<time> begun_;
  std::size_t transfers_ = 0;
  time next_transfer_{0};
  bool requested_ = false;
  std::optional<status> answer_;
};

} // namespace belay::forward
