#pragma once
// What must be true of one node, of each step it takes, and of the whole cluster. For tests and simulations; new rule,
// new line here.

#include "protocol/raft/core.hpp"

#include <map>
#include <optional>
#include <string>

namespace belay::raft {

/// The text of the rule that is broken, with the facts; nullopt: all is well.
using broken_rule = std::optional<std::string>;

/// One node by itself: log, commit and disk positions, role, progress. O(log length).
broken_rule check_node(const core& c);

/// Its configuration is not joint, and committed: none is on its way in or out.
bool settled(const core& c);

/// What of a node may only move one way: while its process lives and, as far as it was on disk, beyond that.
class step_check {
public:
  /// Call after every step. The first call after forget() compares with what the process before had on its disk.
  broken_rule observe(const core& c);
  /// The process ended: what is not on disk may be gone.
  void forget() { seen_ = false; }

private:
  bool seen_ = false;
  term_id term_;
  node_id vote_;
  log_index commit_;
  role role_ = role::follower;
  log_index last_;
  hard_state durable_hard_;
  log_index durable_commit_; ///< committed and on disk: nothing takes it away
};

/// All nodes together, and over time, restarts included.
class cluster_check {
public:
  /// After a step of this node: election safety, a leader has its votes, leader completeness, and that its committed
  /// entries are those everybody else committed (log matching below the commit index).
  broken_rule observe(const core& c);
  /// A message that this node sends: what it promises must be on its disk, and no vote is given twice
  /// (dissertation 3.8, R19, R21). Of every node, or no leader has its votes.
  broken_rule sent(const core& c, const message& m);
  /// Log matching of two nodes over everything both hold (dissertation figure 3.2). O(log length).
  static broken_rule compare(const core& a, const core& b);

  /// Entries known to be committed by anybody.
  log_index committed() const { return committed_.empty() ? log_index{} : committed_.rbegin()->first; }

private:
  struct fact {
    term_id term;
    cluster_time time;
    std::uint32_t crc = 0;
  };
  static fact fact_of(const entry& e);

  broken_rule vote_told(term_id term, node_id voter, node_id candidate, const core& c);

  std::map<term_id, node_id> leaders_;
  std::map<std::pair<term_id, node_id>, node_id> votes_; ///< (term, voter) -> for whom, as told
  std::map<log_index, fact> committed_;
  std::map<log_index, term_id> committed_in_; ///< the lowest term of a node seen with the entry committed
  std::map<node_id, log_index> checked_;      ///< up to there this node's committed entries were compared
  std::map<node_id, bool> led_;
};

} // namespace belay::raft
