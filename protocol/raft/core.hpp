#pragma once
// Raft for one node as a plain object: inputs in, one `ready` out with what to write, send
// and commit. It has no clock, disk or network; in the server, actors/consensus/raft_peer.cpp
// carries out its output. How to drive it, with a working example: docs/internals/driving-raft.md.

#include "protocol/base/random.hpp"
#include "protocol/base/result.hpp"
#include "protocol/raft/types.hpp"

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace belay::raft {

/// Monotonic local time; only differences matter, and only on one node.
using local_time = std::chrono::nanoseconds;

/// Timing and size limits. All servers of a cluster must have equal
/// times: the lease of one relies on the election timeouts of the others.
struct limits {
  std::chrono::milliseconds tick{25}; ///< interval between tick() calls
  int heartbeat_ticks = 2;            ///< max ticks between messages from a leader to a follower
  int election_ticks = 20; ///< a follower campaigns after election_ticks .. 2 * election_ticks - 1 silent ticks
  /// A leader steps down if a batch is not on disk this many election
  /// timeouts after it was handed out (docs/internals/pitfalls.md R5).
  int stall_elections = 4;
  std::size_t append_bytes_max = 1 << 20; ///< entry data per append_entries (at least one entry always fits)
  std::size_t append_entries_max = 4096;
  /// Used if larger, for a follower that lacks more than inflight_appends_max entries.
  std::size_t catch_up_append_bytes_max = 1 << 20;
  std::size_t catch_up_append_entries_max = 4096;
  std::size_t inflight_appends_max = 16;    ///< per follower in replicate state
  std::size_t inflight_bytes_max = 8 << 20; ///< per follower
  /// Min interval between appends to a follower that has not replied, below coalesced_bytes_max in
  /// flight. Entries are then sent together and cost it one disk write (Nagle, RFC 896). Zero:
  /// none.
  std::chrono::nanoseconds append_gap = std::chrono::milliseconds(2);
  /// Entry data in flight to a follower above which append_gap does not apply.
  std::size_t coalesced_bytes_max = 128 << 10;
  std::size_t uncommitted_bytes_max = 64 << 20; ///< propose() rejects above this
  std::size_t trailing_bytes_max = 64 << 20;    ///< bytes kept by compact()'s `keep`, whatever the number of entries
  /// Limit of entries kept beyond compact()'s `keep` for followers that are catching up.
  std::size_t catch_up_bytes_max = 256 << 20;
  std::size_t read_rounds_max = 2;              ///< max concurrent rounds with reads; later reads share the next round
  std::size_t snapshot_chunk_bytes = 512 << 10; ///< at first; then doubles what the follower has received
  std::size_t snapshot_chunk_bytes_max = 512 << 10;
  std::size_t snapshot_chunks_inflight = 4;
  /// Max difference of two servers' clock rates. A lease lasts election timeout * (1 - 2 * this).
  double clock_rate_error = 0.10;
};

/// State found on disk. The log may start after `snapshot.index`; the checkpoint has the rest.
struct restored_state {
  hard_state hard;
  snapshot_meta snapshot;     ///< index zero: none (then config is empty)
  std::vector<entry> entries; ///< contiguous, first index <= snapshot.index + 1
};

enum class role : std::uint8_t { follower, pre_candidate, candidate, leader };
std::string_view name_of(role r);

/// Why a server started an election. For the operator's log only; no decision depends on it.
enum class election_cause : std::uint8_t {
  none,               ///< it has not started one since the process started
  only_voter,         ///< its own vote is a quorum
  leader_silent,      ///< no message from the leader for an election timeout
  no_leader,          ///< no leader was known for an election timeout
  no_winner,          ///< its previous election ended without a leader
  requested_by_leader ///< the leader is transferring leadership to it
};
std::string_view name_of(election_cause c);

/// Why a leader stepped down. For the operator's log only; no decision depends on it.
enum class step_down_cause : std::uint8_t {
  none,              ///< it has not led since the process started
  newer_term,        ///< a message of a newer term arrived: another server leads or campaigns
  no_quorum,         ///< too few voters replied for an election timeout
  stalled_disk,      ///< a write of its log took limits::stall_elections election timeouts
  left_configuration ///< a committed configuration gives it no vote
};
std::string_view name_of(step_down_cause c);

/// Must become durable as ONE step: hard state, truncation and entries (docs/internals/pitfalls.md R18).
struct persist_batch {
  std::uint64_t token = 0; ///< increments by one; confirm with persisted(token), in order
  std::optional<hard_state> hard;
  std::optional<log_index> truncate_from; ///< drop this index and all after it, before `entries`
  /// Set if an installed snapshot does not fit the log: drop the whole log; the next entry has
  /// index + 1.
  std::optional<snapshot_meta> restart_after;
  std::vector<entry> entries;
};

/// The leader needs bytes of a checkpoint to send. `index` zero: of the newest checkpoint; else
/// of exactly that one, to continue it. Reply with snapshot_loaded() or snapshot_unavailable().
struct snapshot_read {
  node_id to; ///< the follower to send them to
  log_index index;
  std::uint64_t offset = 0;
  std::size_t bytes_max = 0;
};

/// The follower received bytes of a checkpoint to store: in order for each index; offset 0
/// restarts. Reply with snapshot_written(). If `last`: verify it, make it durable, replace the
/// state machine's tables by it, then call snapshot_installed(). On any error call
/// snapshot_failed().
struct snapshot_write {
  snapshot_meta meta;
  std::uint64_t offset = 0;
  payload bytes;
  bool last = false;
};

/// A quorum confirmed the leader after the read was requested:
/// serve the read once the state machine has applied `index`.
struct confirmed_read {
  std::uint64_t id;
  log_index index;
};

/// Role, term and leader as far as this node knows. Reported on every change.
struct soft_state {
  raft::role role = role::follower;
  term_id term;
  node_id leader; ///< zero: unknown
  bool operator==(const soft_state&) const = default;
};

/// Work to do, in this order (docs/internals/driving-raft.md):
/// 1. hand `persist` to the log, without waiting for it;
/// 2. send `send_now`;
/// 3. handle `proposals_unknown_from`, pass `committed` to the state machine, do the rest;
/// 4. when the log reports a batch on disk, call persisted() with its token. Messages that must
/// wait for the disk (acknowledgements, votes) are in `send_now` of the ready that follows.
struct ready {
  std::optional<persist_batch> persist;
  std::vector<message> send_now;
  std::vector<entry> committed; ///< contiguous and in order; each entry is returned once in the life of a process
  std::vector<confirmed_read> reads_confirmed;
  /// Leadership was lost or is uncertain. Retry with a new id (docs/internals/pitfalls.md R11).
  std::vector<std::uint64_t> reads_failed;
  std::optional<soft_state> soft;
  /// Set when leadership is lost: the next leader may or may not commit what this
  /// node proposed at this index and after. Report these outcomes as unknown before
  /// handling `committed`: entries at these indexes may be another leader's.
  std::optional<log_index> proposals_unknown_from;
  std::vector<snapshot_read> snapshot_reads;
  std::vector<snapshot_write> snapshot_writes;
  std::optional<configuration> config_changed; ///< the new configuration in force (latest in the log)
  /// This leader will leave the configuration; lease_until() is zero. Stop reads under the lease,
  /// then call lease_given_up(). The leader leaves then, or when the lease would have expired.
  bool lease_withdrawn = false;
  bool empty() const;
};

/// How a leader sends to one follower.
enum class follower_state : std::uint8_t {
  probe,     ///< one append at a time, until the logs are known to match
  replicate, ///< a window of appends
  snapshot,  ///< a checkpoint; no entries
};
std::string_view name_of(follower_state s);

/// The leader's state for one follower; for operators and tests.
struct progress_view {
  node_id id;
  follower_state state = follower_state::probe;
  log_index match; ///< on the follower's disk and equal to the leader's log up to here
  log_index next;  ///< the first entry to send
  std::size_t inflight = 0;
  int silent_ticks = 0; ///< since its last message
};

/// Why a proposal is rejected. Nothing was appended.
enum class propose_error : std::uint8_t {
  not_leader,
  transferring,         ///< leadership is being transferred, or the leader is leaving the cluster
  too_much_uncommitted, ///< limits::uncommitted_bytes_max
  change_in_progress,   ///< another change of the configuration is not finished
  no_noop_yet,          ///< the first entry of the leader's term is not committed
  quorum_not_reachable, ///< no quorum of the new members responds: this leader would have to step down
  invalid,              ///< a null or missing payload; a configuration that is malformed, or already in force
};
std::string_view name_of(propose_error e);

/// Raft on one node. Not copyable, no threads: one owner.
class core {
public:
  /// `seed` is for election timeouts, the only random choice. It should differ between servers.
  core(node_id self, limits l, restored_state restored, std::uint64_t seed);
  ~core();
  core(core&&) noexcept;
  core& operator=(core&&) noexcept;

  // ---- inputs. Call take_ready() after one or several; batching shares disk writes and messages.

  /// First start of a cluster: every initial member calls it with the
  /// same configuration on an empty log; creates entry 1 (term 1).
  /// @returns an error if there is any state already.
  status bootstrap(const configuration& initial);

  /// Call every limits::tick. `now` never decreases; here and below.
  void tick(local_time now);
  /// A message from another server. It is validated: no message can do more harm than its
  /// loss. A term more than 2^32 above this node's is rejected. Requests (appends, votes,
  /// snapshots, transfers) are only accepted from servers for which counts() is true.
  void step(const message& m, local_time now);
  /// Whether to accept requests of that server. It must be a member of the configuration in force,
  /// or of one that may return (from the commit index on), or members_received() must have named
  /// it. A server without a configuration accepts all; later it still accepts those that it
  /// followed then, because its new log begins with other servers' configurations.
  /// formation::may_follow and bind decide which cluster may add it.
  bool counts(node_id from) const;
  /// `by` reports members of its configuration. Accepted if counts(by), or if it is this
  /// server: what the driver knows from elsewhere. A server that is behind may lack the entry that
  /// added the current leader or a candidate, and can get it only from them. Without this it would
  /// reject exactly the servers that can help it. Kept for the life of the process.
  void members_received(node_id by, const std::vector<node_id>& servers);
  /// `token` and all before it are on disk.
  void persisted(std::uint64_t token, local_time now);

  /// Appends commands to the leader's log, all or none. @returns the first one's index;
  /// others follow. Outcome: ready::committed, or ready::proposals_unknown_from if uncertain.
  std::variant<log_index, propose_error> propose(std::vector<payload> commands, cluster_time now);
  /// Starts the change to these members (joint consensus: the second half follows automatically).
  /// @returns nullopt: it has started
  std::optional<propose_error> propose_configuration(const configuration& target, cluster_time now);
  /// Asks a quorum whether this node still leads, for a linearizable read. ready::reads_confirmed
  /// or ready::reads_failed has the result. `id` must be new. @returns false: it does not lead
  bool read(std::uint64_t id);
  /// Transfers leadership to another voter: when that has the whole log, it receives a request to
  /// campaign. Until then proposals are rejected. Aborted after one election timeout.
  /// @pre reads are no longer served under the lease
  /// @returns false: this node does not lead, or `to` is not a voter, is silent, or needs a
  /// snapshot
  bool transfer_leadership(node_id to);
  /// Reply to ready::lease_withdrawn: reads are no longer served under the lease.
  void lease_given_up();
  /// The link to a peer was lost or refused. A leader sends more carefully (follower_state::probe);
  /// a follower of that leader may campaign earlier, harmless because it pre-votes first.
  void peer_unreachable(node_id peer);
  /// There is a link to a peer again. A leader sends at once, not with its next heartbeat.
  void peer_reachable(node_id peer);

  // ---- replies to ready::snapshot_reads and ready::snapshot_writes

  void snapshot_loaded(node_id to, const snapshot_meta& meta, std::uint64_t offset, payload bytes, bool last);
  void snapshot_unavailable(node_id to);
  void snapshot_written(log_index index, std::uint64_t next_offset);
  void snapshot_failed(log_index index);
  void snapshot_installed(const snapshot_meta& meta);

  // ---- housekeeping

  /// A checkpoint at `meta` is durable: entries at or before `meta.index - keep` may be dropped.
  /// @returns the first index that is kept: the log on disk may drop earlier ones
  log_index compact(const snapshot_meta& meta, std::uint64_t keep);
  /// Advances time without a tick: entries delayed by limits::append_gap may be due.
  void time_is(local_time now);
  /// Whether entries wait for limits::append_gap: call time_is() and take_ready() when it has
  /// passed.
  bool coalesces() const;
  /// Sends followers the commit index at once (empty appends), not with the next heartbeat.
  void broadcast_commit();

  /// @returns all work since the last call
  ready take_ready();

  // ---- state

  node_id self() const;
  const soft_state& soft() const;
  bool is_leader() const;
  term_id term() const;
  node_id voted_for() const; ///< in this term; zero: none
  log_index commit_index() const;
  /// Largest commit index that the current leader has sent, at least commit_index(): the cluster's
  /// progress, even if this server cannot write what it receives. On the leader its own.
  log_index leader_commit() const;
  /// Cause of the last election that this server started.
  election_cause why_election() const;
  /// Cause of the end of its last leadership.
  step_down_cause why_stepped_down() const;
  log_index last_index() const;
  cluster_time last_time() const;     ///< time of the last entry
  log_index first_index() const;      ///< oldest entry kept
  term_id term_at(log_index i) const; ///< zero if unknown
  /// By this node's clock, there is no other leader until then, if clock rates differ by at most
  /// limits::clock_rate_error. Zero: no lease. Needs a committed no-op of the leader's term.
  local_time lease_until() const;
  /// Whether this node leads and committed an entry of its term: its commit index is the cluster's.
  bool may_serve_reads() const;
  /// The configuration in force: the latest in the log, committed or not (dissertation 4.1).
  const configuration& config() const;
  snapshot_meta meta_at_commit() const; ///< index, term, time and configuration at the commit index
  /// The same at another index that is applied and still in the log,
  /// or just before the log. Index zero in the result: unknown.
  snapshot_meta meta_at(log_index i) const;
  std::vector<progress_view> progress() const; ///< empty except on the leader
  /// Ticks since the last message from the leader (0 on the leader); -1: never.
  int ticks_since_leader() const;
  /// One line, for logs and scenarios.
  std::string describe() const;

private:
  friend struct invariant_probe; ///< protocol/raft/invariants.cpp inspects it
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace belay::raft
