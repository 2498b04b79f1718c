#pragma once
// Raft for one node, as a plain object: values in, one `ready` out that says what to write, what to send and what is
// committed. It has no clock, disk or network of its own; in the server actors/consensus/raft_peer.cpp carries out what
// comes back. How to drive one, with an example that compiles: docs/driving-raft.md.

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

/// How often, how much, how long. The same on all servers of a cluster, as far as time is concerned: the lease of one
/// counts on the election time of the others.
struct limits {
  std::chrono::milliseconds tick{25}; ///< how often tick() is called
  int heartbeat_ticks = 2;            ///< a leader sends to each follower at least this often
  int election_ticks = 20; ///< a follower campaigns after election_ticks .. 2 * election_ticks - 1 silent ticks
  /// A leader steps down when a batch it handed out is not on disk after this many election times
  /// (docs/pitfalls.md R5).
  int stall_elections = 4;
  std::size_t append_bytes_max = 1 << 20; ///< of entry data per append_entries (at least one entry always fits)
  std::size_t append_entries_max = 4096;
  /// To a follower that lacks more entries than inflight_appends_max, instead of the two above if they are less.
  std::size_t catch_up_append_bytes_max = 1 << 20;
  std::size_t catch_up_append_entries_max = 4096;
  std::size_t inflight_appends_max = 16;    ///< per follower in replicate state
  std::size_t inflight_bytes_max = 8 << 20; ///< per follower
  /// A follower that has not answered an append gets the next one so long after it at the earliest, unless gathered_bytes_max are on their
  /// way: entries that come meanwhile go together, and cost it one write of its disk (Nagle, RFC 896, for entries). Zero: at once.
  std::chrono::nanoseconds append_gap = std::chrono::milliseconds(2);
  /// Of entry data on its way to a follower: from there on nothing waits for append_gap.
  std::size_t gathered_bytes_max = 128 << 10;
  std::size_t uncommitted_bytes_max = 64 << 20; ///< propose() refuses above
  std::size_t trailing_bytes_max = 64 << 20;    ///< of entries kept by compact()'s `keep`, whatever their number
  /// Of entries kept beyond compact()'s `keep` for followers that are catching up.
  std::size_t catch_up_bytes_max = 256 << 20;
  std::size_t read_rounds_max = 2; ///< rounds with reads that are unanswered at one time; later reads share the next
  std::size_t snapshot_chunk_bytes = 512 << 10; ///< at first; then as much again as the follower has of it
  std::size_t snapshot_chunk_bytes_max = 512 << 10;
  std::size_t snapshot_chunks_inflight = 4;
  /// How far the rates of two servers' clocks may differ. A lease lasts election time * (1 - 2 * this).
  double clock_rate_error = 0.10;
};

/// What a node finds on its disk. The log may start after `snapshot.index`; older entries are in the checkpoint.
struct restored_state {
  hard_state hard;
  snapshot_meta snapshot;     ///< index zero: none (then config is empty)
  std::vector<entry> entries; ///< contiguous, first index <= snapshot.index + 1
};

enum class role : std::uint8_t { follower, pre_candidate, candidate, leader };
std::string_view name_of(role r);

/// Why a server began an election. For the log of an operator; nothing is decided by it.
enum class election_cause : std::uint8_t {
  none,           ///< it has begun none since the process began
  only_voter,     ///< its own vote is a quorum
  leader_silent,  ///< the leader that it followed was not received from for an election time-out
  no_leader,      ///< no leader was known for an election time-out
  no_winner,      ///< its election before this one ended without a leader
  asked_by_leader ///< the leader transfers leadership to it
};
std::string_view name_of(election_cause c);

/// Why a leader stopped leading. For the log of an operator; nothing is decided by it.
enum class step_down_cause : std::uint8_t {
  none,              ///< it has not led since the process began
  newer_term,        ///< a message of a newer term arrived: another server leads, or campaigns
  no_quorum,         ///< too few voters were received from for an election time
  stalled_disk,      ///< a write of its own log was under way for limits::stall_elections election times
  left_configuration ///< a committed configuration gives it no vote
};
std::string_view name_of(step_down_cause c);

/// Must be durable as ONE step: hard state, truncation and entries together (docs/pitfalls.md R18).
struct persist_batch {
  std::uint64_t token = 0; ///< rises by one; confirm with persisted(token), in order
  std::optional<hard_state> hard;
  std::optional<log_index> truncate_from; ///< drop this index and all after it, before `entries`
  /// Set after a snapshot was installed and the log did not fit it: drop the whole log; the next entry is index + 1.
  std::optional<snapshot_meta> restart_after;
  std::vector<entry> entries;
};

/// The leader wants bytes of a checkpoint, to send them. `index` zero: of the newest checkpoint; else of exactly that
/// one, to go on with it. Answer with snapshot_loaded() or snapshot_unavailable().
struct snapshot_read {
  node_id to; ///< the follower they are for
  log_index index;
  std::uint64_t offset = 0;
  std::size_t bytes_max = 0;
};

/// The follower got bytes of a checkpoint, to be stored: in order for each index; offset 0 begins anew. Answer with
/// snapshot_written(); if it is the `last`, check the whole, make it durable, put it in force as the state machine's
/// tables, then answer with snapshot_installed(). If anything is wrong with it, answer with snapshot_failed().
struct snapshot_write {
  snapshot_meta meta;
  std::uint64_t offset = 0;
  payload bytes;
  bool last = false;
};

/// A quorum still followed this leader after the read was asked for: it may be served as soon as the state machine has
/// applied `index`.
struct confirmed_read {
  std::uint64_t id;
  log_index index;
};

/// Who this node is now, as far as it knows. Reported on every change.
struct soft_state {
  raft::role role = role::follower;
  term_id term;
  node_id leader; ///< zero: unknown
  bool operator==(const soft_state&) const = default;
};

/// What is to be done, in this order (docs/driving-raft.md):
/// 1. hand `persist` to the log; it need not be waited for;
/// 2. send `send_now`;
/// 3. give up what `proposals_unknown_from` names, give `committed` to the state machine, and carry out the rest;
/// 4. when the log says that a batch is on disk, call persisted() with its token. What may be sent only then, an
///    acknowledgement or a vote, is in `send_now` of the ready that follows.
struct ready {
  std::optional<persist_batch> persist;
  std::vector<message> send_now;
  std::vector<entry> committed; ///< contiguous, in order, each once per process life
  std::vector<confirmed_read> reads_confirmed;
  /// Leadership was lost or is uncertain. Ask again, under a fresh id (docs/pitfalls.md R11).
  std::vector<std::uint64_t> reads_failed;
  std::optional<soft_state> soft;
  /// Set when leadership was lost: what this node proposed at this index and after it may or may not be committed by
  /// the next leader. Whoever waits for it is told that the outcome is unknown, and before `committed` is looked at:
  /// entries that come at these indexes may be another leader's.
  std::optional<log_index> proposals_unknown_from;
  std::vector<snapshot_read> snapshot_reads;
  std::vector<snapshot_write> snapshot_writes;
  std::optional<configuration> config_changed; ///< the configuration now in force (latest in the log)
  /// This leader is about to leave the configuration, and lease_until() is zero. Whoever serves reads under the lease has
  /// to be told; then call lease_given_up(). The leader does not leave before that, or before the lease would have ended.
  bool lease_withdrawn = false;
  bool empty() const;
};

/// How a leader sends to one follower.
enum class follower_state : std::uint8_t {
  probe,     ///< one append at a time, until the logs are known to fit
  replicate, ///< a window of appends
  snapshot,  ///< a checkpoint; no entries
};
std::string_view name_of(follower_state s);

/// What the leader knows of one follower; for operators and tests.
struct progress_view {
  node_id id;
  follower_state state = follower_state::probe;
  log_index match; ///< on the follower's disk and equal to the leader's log, up to here
  log_index next;  ///< the first entry to be sent
  std::size_t inflight = 0;
  int silent_ticks = 0; ///< since it was last heard
};

/// Why a proposal is refused. Nothing was appended.
enum class propose_error : std::uint8_t {
  not_leader,
  transferring,         ///< leadership is being handed over, or the leader leaves the cluster
  too_much_uncommitted, ///< limits::uncommitted_bytes_max
  change_in_progress,   ///< another change of the configuration is not finished
  no_noop_yet,          ///< the first entry of the leader's term is not committed
  quorum_not_heard,     ///< of the members to be: with them this leader would have to step down
  invalid,              ///< a null payload or none; a configuration that is not well-formed, or is in force already
};
std::string_view name_of(propose_error e);

/// One node's Raft. Not copied, no threads: one owner.
class core {
public:
  /// `seed`: of the only chance there is, the length of election timeouts. It should differ between servers.
  core(node_id self, limits l, restored_state restored, std::uint64_t seed);
  ~core();
  core(core&&) noexcept;
  core& operator=(core&&) noexcept;

  // ---- inputs. Call take_ready() after each, or after several: then they share one disk write and fewer messages.

  /// First start of a cluster: every initial member calls it with the same configuration on an empty log; makes entry 1
  /// (term 1).
  /// @returns a failure if there is any state already.
  status bootstrap(const configuration& initial);

  /// Every limits::tick. `now` never goes back; here and below.
  void tick(local_time now);
  /// A message from another server. It is checked: whatever it says, it does no more harm than to be lost. A term more
  /// than 2^32 above the own one is not believed, and requests (appends, votes, snapshots, transfers) count only from
  /// servers of which counts() is true.
  void step(const message& m, local_time now);
  /// Whether requests of that server count. They do if it is a member of the configuration in force or of one that may
  /// come back into force (from the commit index on), or if told_of() has named it. A server without any configuration
  /// listens to everybody, and keeps listening to whom it followed then: the log of the cluster that takes it in begins
  /// with configurations of other servers. Which cluster may do that is decided outside (formation::may_follow, bind).
  bool counts(node_id from) const;
  /// `by` says that these are members of the configuration it knows. Believed if counts(by), or if it is this server
  /// itself: what its driver knows for other reasons. A server that is behind may
  /// not have the entry yet that added the present leader or candidate, and gets it from nobody else; without this it
  /// would refuse exactly the ones who can help it. For the life of the process.
  void told_of(node_id by, const std::vector<node_id>& servers);
  /// `token` and all before it are on disk.
  void persisted(std::uint64_t token, local_time now);

  /// Appends commands to the leader's log, all or none. @returns the first one's index; the others follow. That they
  /// are committed is told by ready::committed; that this is not known any more, by ready::proposals_unknown_from.
  std::variant<log_index, propose_error> propose(std::vector<payload> commands, cluster_time now);
  /// Begins the change to exactly these members (joint consensus: the second half follows by itself).
  /// @returns nullopt: it has begun
  std::optional<propose_error> propose_configuration(const configuration& target, cluster_time now);
  /// Asks a quorum whether this node still leads, for a linearizable read. The answer is in ready::reads_confirmed or
  /// ready::reads_failed. `id` must never have been used before. @returns false: this node does not lead
  bool read(std::uint64_t id);
  /// Hands leadership to another voter: once that one has the whole log it is told to campaign. Until then proposals
  /// are refused. Given up after one election time.
  /// @pre nobody here serves reads under the lease any more
  /// @returns false: this node does not lead, or `to` is no voter, is silent, or still needs a snapshot
  bool transfer_leadership(node_id to);
  /// Answers ready::lease_withdrawn: nobody here serves reads under the lease any more.
  void lease_given_up();
  /// The link to a peer was lost or refused. A leader sends there more carefully (see follower_state::probe); a
  /// follower of that leader may campaign earlier, which harms nobody because it asks for pre-votes first.
  void peer_unreachable(node_id peer);
  /// There is a link to a peer again. A leader sends at once instead of with its next heartbeat.
  void peer_reachable(node_id peer);

  // ---- answers to ready::snapshot_reads and ready::snapshot_writes

  void snapshot_loaded(node_id to, const snapshot_meta& meta, std::uint64_t offset, payload bytes, bool last);
  void snapshot_unavailable(node_id to);
  void snapshot_written(log_index index, std::uint64_t next_offset);
  void snapshot_failed(log_index index);
  void snapshot_installed(const snapshot_meta& meta);

  // ---- housekeeping

  /// A checkpoint at `meta` is durable: entries at or before `meta.index - keep` may be forgotten.
  /// @returns the first index that is kept: the log on disk may drop what is before it
  log_index compact(const snapshot_meta& meta, std::uint64_t keep);
  /// Time has gone on, and nothing else happened: entries may be due that waited for limits::append_gap.
  void time_is(local_time now);
  /// Entries wait for limits::append_gap. Call time_is() and take_ready() when it is over: no tick is due that early.
  bool gathers() const;
  /// Tells followers the commit index at once (with an empty append), instead of with the next heartbeat.
  void broadcast_commit();

  /// @returns everything there is to do since the last call
  ready take_ready();

  // ---- the present state

  node_id self() const;
  const soft_state& soft() const;
  bool is_leader() const;
  term_id term() const;
  node_id voted_for() const; ///< in this term; zero: nobody
  log_index commit_index() const;
  /// The largest commit index that the present leader has sent to this server, and at least commit_index(): how far the
  /// cluster is, also while this server cannot write what it receives. On the leader its own.
  log_index leader_commit() const;
  /// Of the newest election that this server began.
  election_cause why_election() const;
  /// Of its newest leadership that has ended.
  step_down_cause why_stepped_down() const;
  log_index last_index() const;
  cluster_time last_time() const;     ///< of the last entry
  log_index first_index() const;      ///< oldest entry kept
  term_id term_at(log_index i) const; ///< zero if unknown
  /// Until when, by this node's clock, there can be no other leader, if clock rates differ by no more than
  /// limits::clock_rate_error. Zero: no lease. Only a leader that has committed the no-op of its term has one.
  local_time lease_until() const;
  /// This node leads, and an entry of its term is committed: its commit index is that of the cluster.
  bool may_serve_reads() const;
  /// The configuration in force: the latest in the log, committed or not (dissertation 4.1).
  const configuration& config() const;
  snapshot_meta meta_at_commit() const; ///< index, term, time, configuration as of the commit index
  /// The same as of another index that is applied and still in the log, or the index just before the log. Index zero in
  /// what is returned: not known.
  snapshot_meta meta_at(log_index i) const;
  std::vector<progress_view> progress() const; ///< empty on all but the leader
  /// Ticks since the leader was last heard (0 on the leader); -1: never.
  int ticks_since_leader() const;
  /// One line, for logs and scenarios.
  std::string describe() const;

private:
  friend struct invariant_probe; ///< protocol/raft/invariants.cpp looks inside
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace belay::raft
