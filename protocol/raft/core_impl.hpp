#pragma once
// The implementation of raft::core (core.hpp): all Raft state of one node and the functions that
// change it. They are in several source files by subject; each section below names its file.

#include "protocol/base/mutants.hpp"
#include "protocol/raft/configuration.hpp"
#include "protocol/raft/core.hpp"
#include "protocol/raft/leading.hpp"
#include "protocol/raft/log_window.hpp"

#include <map>
#include <set>

namespace belay::raft {

/// Largest index, term or offset accepted from a peer: far above what a
/// cluster reaches in centuries, far below where adding one would overflow.
inline constexpr std::uint64_t number_max = std::uint64_t{1} << 62;
/// How far a peer's term may be above this node's. An election raises the term by one, so no honest
/// server is that far ahead. A false term near the maximum would leave none for further elections.
inline constexpr std::uint64_t term_leap_max = std::uint64_t{1} << 32;

struct core::impl {
  impl(node_id self, limits l, restored_state restored, std::uint64_t seed);

  // ---- core.cpp: inputs and outputs
  void tick(local_time now);
  void step(const message& m, local_time now);
  bool counts(node_id from) const;
  void members_received(node_id by, const std::vector<node_id>& servers);
  void persisted(std::uint64_t token, local_time now);
  ready take_ready();
  void saw_time(local_time now);
  void send_now(node_id to, message_body body);
  /// Sends it once everything decided so far is on disk.
  void send_durable(node_id to, message_body body);
  void send_as(term_id term, node_id to, message_body body);
  bool hard_is_durable() const { return durable_hard == hard; }
  /// Whether the log on disk has a term. Before, nothing is passed to the state machine or
  /// stored as a snapshot: after a power failure, a server with a checkpoint (written beside
  /// the log) but no term cannot know whether it lost its log (docs/internals/pitfalls.md R36).
  bool has_a_term() const { return !durable_hard.term.is_zero() || MUTANT(state_before_term); }
  /// Ticks since the oldest unconfirmed batch was handed out.
  int persist_age_ticks() const;
  void take_persist();
  void take_committed();
  void advance_commit(log_index to);
  /// Whether what this message promises is on the disk: a vote, or the term in which entries or a
  /// snapshot are acknowledged. The entries themselves are not compared: a leader that contradicts
  /// itself within its term may have made this server truncate them.
  bool is_backed_by_disk(const message& m) const;
  /// Checks what holds between two inputs. Called at the end of each function that changes this
  /// node. O(1).
  void check_consistency();
  void check_positions() const;
  void check_role() const;

  // ---- election.cpp: terms, votes, leadership
  /// @param why if this node leads: for the log
  void follow(term_id term, node_id new_leader, step_down_cause why = step_down_cause::newer_term);
  void lose_leadership();
  void contacted_leader();
  /// Whether votes are rejected to protect the lease of the leader that was in contact last.
  bool guards_leader() const;
  /// Whether this node is a voter, or its removal is not known to be committed.
  bool electable() const;
  bool may_campaign() const;
  /// Whether this node is a quorum by itself.
  bool alone() const;
  void campaign(bool transfer);
  void hurry();
  void pre_campaign();
  void ask_for_votes(bool pre_vote, bool transfer);
  void count_votes();
  void lead();
  void tick_follower();
  void on_vote_request(const message& m, const vote_request& r);
  void on_vote_reply(const message& m, const vote_reply& r);
  node_id silent_voter_or(node_id answered) const;
  void on_timeout_now(const message& m);
  /// Range (ticks) of random election timeouts: not all campaign at once (dissertation 3.4).
  std::uint64_t election_spread() const {
    return MUTANT(election_timeouts_alike) ? 1 : static_cast<std::uint64_t>(lim.election_ticks);
  }
  int shuffled_timeout() { return lim.election_ticks + static_cast<int>(random.below(election_spread())); }

  // ---- replication.cpp: the leader's side of appends
  log_index append_own(entry_kind kind, payload data, cluster_time time);
  void tick_leader();
  void drive_followers();
  void drive(node_id id, follower_progress& p);
  void send_append(node_id id, follower_progress& p, bool with_entries);
  void on_append_reply(const message& m, const append_reply& r);
  void commit_by_count();
  /// Whether a quorum sent messages within an election timeout plus `more_ticks`.
  bool quorum_is_reachable(int more_ticks = 0) const { return quorum_is_reachable(config(), more_ticks); }
  bool quorum_is_reachable(const configuration& c, int more_ticks) const;
  std::variant<log_index, propose_error> propose(std::vector<payload> commands, cluster_time now);

  // ---- following.cpp: the follower's side of appends
  /// Follows the sender of `m`, which acts as a leader. @returns false: ignore the message.
  bool accept_leader(const message& m);
  bool sane(const message& m, const append_entries& a) const;
  void on_append(const message& m, const append_entries& a);
  void reject_append(const message& m, const append_entries& a);
  void truncate_log(log_index from);

  // ---- membership.cpp
  status bootstrap(const configuration& initial);
  std::optional<propose_error> propose_configuration(const configuration& target, cluster_time now);
  void config_took_effect();
  void sync_progress();
  void after_commit();
  bool lease_is_over();
  void lease_given_up();
  bool transfer_leadership(node_id to);
  void tick_transfer();
  void name_successor();

  // ---- reads.cpp: read rounds and the lease
  bool read(std::uint64_t id);
  void start_rounds();
  void confirm_rounds();
  void fail_reads();
  local_time lease_until() const;
  local_time lease_end() const;
  bool may_serve_reads() const { return leading && commit >= leading->term_start; }

  // ---- snapshots.cpp
  void drive_snapshot(node_id id, follower_progress& p);
  void tick_snapshot(node_id id, follower_progress& p);
  void snapshot_loaded(node_id to, const snapshot_meta& meta, std::uint64_t offset, payload bytes, bool last);
  void snapshot_unavailable(node_id to);
  void snapshot_rejected(follower_progress& p);
  void on_snapshot_reply(const message& m, const snapshot_reply& r);
  void on_snapshot_chunk(const message& m, const snapshot_chunk& c);
  void snapshot_written(log_index index, std::uint64_t next_offset);
  void snapshot_failed(log_index index);
  void snapshot_installed(const snapshot_meta& meta);
  log_index needed_behind(log_index upto) const;
  log_index compact(const snapshot_meta& meta, std::uint64_t keep);
  snapshot_meta meta_at(log_index i) const;
  bool installing() const { return incoming && incoming->complete; }

  // ---- describe.cpp
  std::string describe() const;

  const configuration& config() const { return log.config(); }
  /// State of a follower; null: this node does not lead, or does not know that follower.
  follower_progress* progress_of(node_id id) { return leading ? leading->find(id) : nullptr; }

  // ---- this node
  node_id self;
  limits lim;
  seeded_random random;

  /// Servers that others report as members. This node's log need not name them yet.
  std::set<node_id> acquainted;

  // ---- persistent state, as in memory (the disk may be behind)
  hard_state hard;
  log_window log;

  // ---- on its way to the disk
  struct unconfirmed_batch {
    std::uint64_t token;
    std::optional<hard_state> hard;
    log_index last; ///< zero: no entries
    int tick;       ///< when it was handed out
    std::vector<message> then_send;
  };
  std::uint64_t next_token = 1;
  std::deque<unconfirmed_batch> unconfirmed; ///< handed out, not known to be on disk
  std::vector<message> held;                 ///< to send once the next batch, or the last one handed out, is on disk
  bool hard_changed = false;
  // Fields of the next persist_batch.
  std::optional<log_index> truncate_from;
  std::optional<snapshot_meta> restart_after;
  log_index handed_out; ///< last entry handed to the disk
  log_index durable;    ///< last entry known to be on disk (or in the checkpoint)
  hard_state durable_hard;

  // ---- commit
  log_index commit;
  log_index delivered; ///< passed to the state machine
  /// Largest commit index from the current leader; zero: none yet, or this node leads.
  log_index received_commit;

  // ---- roles
  soft_state soft;
  soft_state reported_soft;
  local_time now{0};
  bool time_known = false;
  int ticks = 0;

  // ---- follower and candidate
  int election_elapsed = 0;          ///< ticks since the timeout began
  int election_timeout = 0;          ///< ticks; random each time
  bool leader_was_reachable = false; ///< since the start, for ticks_since_leader()
  int contact_ticks = 0;             ///< since the last message from the leader
  local_time contact_time{0};
  bool refuses_votes = false;    ///< until an election timeout has passed since the last contact
  log_index verified;            ///< this log equals the current leader's up to here
  std::map<node_id, bool> votes; ///< votes in this campaign, by voter (docs/internals/pitfalls.md R2)

  // ---- for the log
  election_cause why_election = election_cause::none;
  step_down_cause why_stepped_down = step_down_cause::none;

  // ---- leader: set exactly while soft.role is role::leader
  std::optional<raft::leading> leading;

  // ---- an incoming snapshot
  struct incoming_snapshot {
    snapshot_meta meta;
    node_id from;
    term_id term;
    std::uint64_t next_offset = 0;
    bool complete = false; ///< the last chunk was handed to the disk
  };
  std::optional<incoming_snapshot> incoming;

  ready out;

  // ---- as of the last check_consistency(): none of these ever goes back
  struct checked_state {
    hard_state hard;
    log_index commit, delivered;
    log_index last; ///< of a leader, which only appends; zero: it did not lead
  } checked;
};

} // namespace belay::raft
