#pragma once
// Observes every node after every message. It checks Raft's rules (protocol/raft/invariants.hpp),
// that all state machines apply the same log, and that equal indexes have equal digests. It passes
// what was committed to the checkers of replies, sessions and watches.

#include "sim/checkers/changes/floor_checker.hpp"
#include "sim/checkers/claims/claims_checker.hpp"
#include "sim/checkers/claims/wait_checker.hpp"
#include "sim/checkers/cost_checker.hpp"
#include "sim/checkers/lock_delay_checker.hpp"
#include "sim/checkers/reply_checker.hpp"
#include "sim/checkers/session_checker.hpp"
#include "sim/checkers/watch_checker.hpp"
#include "sim/environment/cluster.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::sim {

class observer {
public:
  /// @param lease_is_safe false: clocks may be so wrong that leases overlap
  observer(schedule& time, event_trace& trace, cluster& nodes, reply_checker& replies, watch_checker& watches,
           session_checker& sessions, lock_delay_checker& delays, claims_checker& claims, wait_checker& waits,
           paused_clocks& clocks, floor_checker& floors, bool lease_is_safe, bool quiet);

  /// Call it before an actor handles that message.
  void before(const enlisted& who, const caf::type_erased_tuple& message);
  /// Call it after the actor has handled it.
  void after(const enlisted& who);
  void on_led(std::size_t node);
  void on_node_gone(std::size_t node);
  void on_node_paused(std::size_t node);
  void on_node_resumed(std::size_t node);
  /// When the faults begin to end: there was no work except what clients requested.
  void look_at_costs() { complain("costs", costs_.finish(elections_, log_index{committed_.size()})); }
  /// At the end of a run: compares logs, and recomputes digests.
  void finish();

  /// Called for each entry when it is first committed; returns what is wrong with it.
  std::function<broken(const raft::entry&, std::optional<virtual_time> made)> committed;
  /// Called for each query that a node parks.
  std::function<void(std::size_t node, request_id id)> parked;
  /// Called when a node has its first checkpoint and nothing in its log.
  std::function<void(std::size_t node)> first_snapshot;
  /// Called when a node requests votes.
  std::function<void(std::size_t node)> campaigns;
  /// Called when a node is the first to learn that a restore of the tables is committed.
  std::function<void(std::size_t node)> restored;
  /// Called when a node reads a part of its checkpoint for another one.
  std::function<void(std::size_t node)> reads_chunk;
  /// Called when a node has decided to vote for another one and the vote is not on its disk yet.
  std::function<void(std::size_t node)> votes;

  std::uint64_t elections() const { return elections_; }
  /// The first broken rule: checker and text.
  const std::optional<std::pair<std::string, std::string>>& complaint() const { return complaint_; }

private:
  struct seen_of_node {
    raft::step_check steps;
    raft::soft_state soft;
    log_index applied;
    log_index checkpoint;
    std::size_t checkpoints_lost = 0; ///< damaged ones: an older one is in force after each
    log_index appended;               ///< the last seen of the entries that it made as the leader of its term
    term_id appended_in;
    node_id id; ///< a node whose disk was lost returns with another id
    node_id voted_for;
    int life = -1;
  };
  /// A part of a snapshot that is read repeatedly.
  struct repeated_read {
    raft::snapshot_read what;
    virtual_time since{0};
    std::uint32_t times = 0;
  };
  struct known_entry {
    term_id term;
    cluster_time time;
    std::uint32_t crc = 0;
  };

  void look_at_raft(std::size_t node);
  void look_at_voters(std::size_t node, const raft::core& core);
  void look_at_machine(std::size_t node);
  void look_at_written(std::size_t node, const actors::write_log& w);
  void note_appended(seen_of_node& seen, const raft::core& core);
  std::optional<virtual_time> made_at(const raft::entry& e) const;
  void check_cluster_time(const raft::entry& e);
  seen_of_node& seen_of(std::size_t node);
  void look_at_checkpoint(std::size_t node);
  void look_at_new_checkpoint(std::size_t node, const raft::snapshot_meta& meta);
  void recount(std::size_t node);
  void note_reaped(const raft::entry& e) const;
  void take_committed(std::size_t node, const actors::committed_entries& c);
  void look_at_frames(std::size_t node, const actors::send_frames& frames);
  void chunk_read(std::size_t node, const raft::snapshot_read& what);
  void barrier_requested(std::size_t node, const actors::barrier_request& b);
  void barrier_answered(std::size_t node, const actors::barrier_result& b);
  void check_leases(std::size_t new_leader);
  void compare_logs();
  void complain(const char* checker, const std::string& text);
  void complain(const char* checker, const broken& b) {
    if (b)
      complain(checker, *b);
  }

  schedule& time_;
  event_trace& trace_;
  cluster& nodes_;
  reply_checker& replies_;
  watch_checker& watches_;
  session_checker& sessions_;
  lock_delay_checker& delays_;
  claims_checker& claims_;
  wait_checker& waits_;
  paused_clocks& clocks_;
  floor_checker& floors_;
  raft::cluster_check rules_;
  cost_checker costs_;
  std::vector<seen_of_node> seen_;
  std::vector<known_entry> committed_; ///< by index - 1
  /// When a leader made an entry, in true time.
  std::map<std::pair<log_index, term_id>, virtual_time> appended_;
  struct stamp {
    cluster_time received;
    virtual_time made{0};
  };
  std::optional<stamp> last_stamp_;                     ///< stamp of the last committed command
  std::vector<std::pair<bool, std::uint64_t>> digests_; ///< by index: known, value
  /// How often, by node, life and request.
  std::map<std::tuple<std::size_t, int, request_id>, std::uint32_t> forwarded_;
  struct barrier {
    log_index committed; ///< when it was requested
    virtual_time requested{0};
    bool lease_ok = false;
  };
  std::map<std::tuple<std::size_t, int, std::uint64_t>, barrier> barriers_;    ///< by node, life and number
  std::map<std::tuple<std::size_t, int, node_id>, repeated_read> chunk_reads_; ///< by node, life and follower
  bool lease_is_safe_;
  std::uint64_t looks_ = 0;
  std::uint64_t elections_ = 0;
  std::optional<std::pair<std::uint64_t, std::size_t>> cluster_; ///< number of the cluster, and its first leader
  std::optional<std::pair<std::string, std::string>> complaint_;
};

} // namespace belay::sim
