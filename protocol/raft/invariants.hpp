#pragma once
// Invariants of one node, of its steps, and of the whole cluster. Tests and the simulator
// check them after every step. A new invariant of Raft is a new line in invariants.cpp.

#include "protocol/raft/core.hpp"

#include <map>
#include <optional>
#include <string>

namespace belay::raft {

/// The violated rule, with the node's state; nullopt: none.
using broken_rule = std::optional<std::string>;

/// Checks one node by itself: log, commit and disk positions, role, progress. O(log length).
broken_rule check_node(const core& c);

/// Whether no configuration change is in progress: it is not joint, and it is committed.
bool settled(const core& c);

/// Watches one node over time. Term, vote and commit index never go back in the life of a process
/// nor, as far as they were on disk, in later processes.
class step_check {
public:
  /// Call after every step. The first call after forget() compares with the last process's disk.
  broken_rule observe(const core& c);
  /// Call when the process has ended: what was not on disk may be lost.
  void forget() { seen_ = false; }

private:
  bool seen_ = false;
  term_id term_;
  node_id vote_;
  log_index commit_;
  role role_ = role::follower;
  log_index last_;
  hard_state durable_hard_;
  log_index durable_commit_; ///< committed and on disk: permanent
};

/// Watches all nodes together over time, across restarts.
class cluster_check {
public:
  /// Call after a step of this node. Checks election safety, a leader's votes, leader
  /// completeness, and that it committed the same entries as all others (dissertation figure 3.2).
  broken_rule observe(const core& c);
  /// Call with every message sent. What it promises must be on the node's disk, a vote is given
  /// once (dissertation 3.8, docs/internals/pitfalls.md R21). Omitted messages make observe() miss votes.
  broken_rule sent(const core& c, const message& m);
  /// Log matching of two nodes, over entries in both logs (dissertation figure 3.2). O(log length).
  static broken_rule compare(const core& a, const core& b);

  /// The last entry that any node is known to have committed.
  log_index committed() const { return committed_.empty() ? log_index{} : committed_.rbegin()->first; }

private:
  struct fact {
    term_id term;
    cluster_time time;
    std::uint32_t crc = 0;
  };
  static fact fact_of(const entry& e);

  broken_rule vote_sent(term_id term, node_id voter, node_id candidate, const core& c);

  std::map<term_id, node_id> leaders_;
  std::map<std::pair<term_id, node_id>, node_id> votes_; ///< (term, voter) -> candidate, as sent
  std::map<log_index, fact> committed_;
  std::map<log_index, term_id> committed_in_; ///< the lowest term in which a node was seen with the entry committed
  std::map<node_id, log_index> checked_;      ///< this node's committed entries were compared up to here
  std::map<node_id, bool> led_;               ///< when last observed
};

} // namespace belay::raft
