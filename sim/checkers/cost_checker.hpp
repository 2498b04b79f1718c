#pragma once
// Finds unnecessary work: elections without a cause, snapshots instead of entries that the leader
// still has, entries sent repeatedly. It breaks no safety rule, so no other checker reports it.

#include "protocol/raft/core.hpp"
#include "sim/checkers/kv_model.hpp"

#include <map>
#include <set>
#include <utility>

namespace belay::sim {

class cost_checker {
public:
  /// @param quiet the run has no faults, so nothing must be done twice
  explicit cost_checker(bool quiet) : quiet_(quiet) {}

  /// Call it for each message that a server sends.
  void sent(const raft::message& m);
  /// @param before the state of the same server before one message
  broken changed(const raft::soft_state& before, const raft::core& now) const;
  /// Call it with a leader after each message.
  broken leads(const raft::core& leader);
  /// Call it at the end of the faults.
  broken finish(std::uint64_t elections, log_index committed) const;

private:
  bool quiet_;
  std::set<std::pair<node_id, term_id>> handed_over_; ///< server and term of each timeout_now
  std::map<node_id, std::uint64_t> entries_sent_;     ///< to each server
  std::set<std::pair<node_id, node_id>> snapshots_;   ///< leader and follower of each transfer in progress
};

} // namespace belay::sim
