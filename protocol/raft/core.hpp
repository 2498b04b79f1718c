#pragma once
// One node's Raft: values in, one `ready` out. No clock, disk or network: the raft_peer actor carries out what comes
// back.

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

struct limits {
  std::chrono::milliseconds tick{25}; ///< how often tick() is called
  int heartbeat_ticks = 2;            ///< leader sends at least this often
  int election_ticks = 20; ///< a follower campaigns after election_ticks .. 2*election_ticks - 1 silent ticks
  int stall_elections = 4; ///< step down if own persist is outstanding longer than this many election times (R5)
  std::size_t append_bytes_max = 1 << 20; ///< of entry data per append_entries (at least one entry always fits)
  std::size_t append_entries_max = 4096;
  std::size_t inflight_appends_max = 16;        ///< per follower in replicate state
  std::size_t inflight_bytes_max = 8 << 20;     ///< per follower
  std::size_t uncommitted_bytes_max = 64 << 20; ///< propose() refuses above
  std::size_t trailing_bytes_max = 64 << 20;    ///< of entries kept by compact()'s `keep`, whatever their number
  std::size_t catch_up_bytes_max =
      256 << 20;                   ///< of entries kept beyond compact()'s `keep` for followers that are catching up
  std::size_t read_rounds_max = 2; ///< barrier rounds in flight; later reads join the next round
  std::size_t snapshot_chunk_bytes = 512 << 10;
  std::size_t snapshot_chunks_inflight = 4;
  double clock_rate_error =
      0.10; ///< lease = election time * (1 - 2*this): stated bound on how far clock rates may differ
};

/// What a node finds on its disk. The log may start after `snapshot.index`; older entries are in the checkpoint.
struct restored_state {
  hard_state hard;
  snapshot_meta snapshot;     ///< index zero: none (then config is empty)
  std::vector<entry> entries; ///< contiguous, first index <= snapshot.index + 1
};

enum class role : std::uint8_t { follower, pre_candidate, candidate, leader };

/// Must be durable as ONE step: hard state, truncation and entries together (R18, R19).
struct persist_batch {
  std::uint64_t token = 0; ///< rises by one; confirm with persisted(token), in order
  std::optional<hard_state> hard;
  std::optional<log_index> truncate_from; ///< drop this index and all after it, before `entries`
  /// Set after a snapshot was installed and the log did not fit it: drop the whole log; the next entry is index + 1.
  std::optional<snapshot_meta> restart_after;
  std::vector<entry> entries;
};

/// The leader needs bytes of a checkpoint to send. `index` zero: of the newest one; else of exactly that one, to
/// resume. Answer with snapshot_loaded() or snapshot_unavailable().
struct snapshot_read {
  node_id to;
  log_index index;
  std::uint64_t offset = 0;
  std::size_t bytes_max = 0;
};

/// The follower got bytes to store. In order per index; offset 0 starts afresh. When `last`, verify, make the
/// checkpoint durable and in force, then call snapshot_installed(); else snapshot_written(). On damage
/// snapshot_failed().
struct snapshot_write {
  snapshot_meta meta;
  std::uint64_t offset = 0;
  payload bytes;
  bool last = false;
};

struct confirmed_read {
  std::uint64_t id;
  log_index index; ///< serve once the state machine has applied this far
};

/// Who this node is now, as far as it knows. Reported on every change.
struct soft_state {
  raft::role role = role::follower;
  term_id term;
  node_id leader; ///< zero: unknown
  bool operator==(const soft_state&) const = default;
};

/// One output, one order:
/// 1. hand `persist` to the log; 2. send `send_now`; 3. when the log reports a token durable, call persisted(token),
/// then send that batch's `send_after_persist` — persisted() returns them in ITS ready; 4. give `committed` to the
/// state machine.
struct ready {
  std::optional<persist_batch> persist;
  std::vector<message> send_now;
  std::vector<entry> committed; ///< contiguous, in order, each once per process life
  std::vector<confirmed_read> reads_confirmed;
  std::vector<std::uint64_t> reads_failed; ///< leadership lost or uncertain: ask again under a fresh id (R11)
  std::optional<soft_state> soft;
  /// Own proposals at and after this index, made in a term before the present one, may or may not commit: report
  /// unknown.
  std::optional<log_index> proposals_unknown_from;
  std::vector<snapshot_read> snapshot_reads;
  std::vector<snapshot_write> snapshot_writes;
  std::optional<configuration> config_changed; ///< the configuration now in force (latest in the log)
  bool empty() const;
};

/// What the leader knows of one follower; for operators and tests.
struct progress_view {
  enum class state : std::uint8_t { probe, replicate, snapshot };
  node_id id;
  progress_view::state state = state::probe;
  log_index match;
  log_index next;
  std::size_t inflight = 0;
  int silent_ticks = 0;
};

enum class propose_error : std::uint8_t {
  not_leader,
  transferring,
  too_much_uncommitted,
  change_in_progress,
  no_noop_yet,
  quorum_not_heard, ///< of the members to be: with them this leader would have to step down
  invalid
};

class core {
public:
  core(node_id self, limits l, restored_state restored, std::uint64_t seed);
  ~core();
  core(core&&) noexcept;
  core& operator=(core&&) noexcept;

  // ---- inputs. Each may be followed by take_ready(); several inputs may share one (batching). Peer input is checked.

  /// First start of a cluster: every initial member calls it with the same configuration on an empty log; makes entry 1
  /// (term 1).
  /// @returns a failure if there is any state already.
  status bootstrap(const configuration& initial);

  void tick(local_time now);
  void step(const message& m, local_time now);
  /// `token` and all before it are on disk.
  void persisted(std::uint64_t token, local_time now);

  /// Appends entries in order. @returns the first one's index; the others follow. All or nothing.
  std::variant<log_index, propose_error> propose(std::vector<payload> commands, cluster_time now);
  /// Starts the change to exactly this set (joint consensus; the second half follows by itself). Learners not in
  /// voters.
  std::optional<propose_error> propose_configuration(const configuration& target, cluster_time now);
  /// Linearizable barrier: leadership is confirmed by a quorum after this call. `id` must be fresh. @returns false: not
  /// leader.
  bool read(std::uint64_t id);
  /// @returns false if not leader or the target is not an up-to-date-able voter. Gives up after one election time.
  bool transfer_leadership(node_id to);
  /// A link to a peer was lost or refused: the leader goes back to probing; a follower whose LEADER it was may campaign
  /// early (pre-vote keeps that harmless).
  void peer_unreachable(node_id peer);

  void snapshot_loaded(node_id to, const snapshot_meta& meta, std::uint64_t offset, payload bytes, bool last);
  void snapshot_unavailable(node_id to);
  void snapshot_written(log_index index, std::uint64_t next_offset);
  void snapshot_failed(log_index index);
  void snapshot_installed(const snapshot_meta& meta);

  /// A checkpoint at `meta` is durable: entries at or before `meta.index - keep` may be forgotten.
  /// @returns the first index kept, for the log store to compact.
  log_index compact(const snapshot_meta& meta, std::uint64_t keep);
  /// Followers that know less than the commit index are told now (an empty append), instead of with the next heartbeat.
  void broadcast_commit();

  /// Everything to be done since the last call.
  ready take_ready();

  // ---- what is so now

  node_id self() const;
  const soft_state& soft() const;
  bool is_leader() const;
  term_id term() const;
  node_id voted_for() const; ///< in this term; zero: nobody
  log_index commit_index() const;
  log_index last_index() const;
  log_index first_index() const;      ///< oldest entry kept
  term_id term_at(log_index i) const; ///< zero if unknown
  /// Leader only, and only once the no-op of its term is committed: until when (own clock) no other leader can exist if
  /// clock rates differ by no more than limits.clock_rate_error. Zero: no lease.
  local_time lease_until() const;
  /// True once the leader's own term has a committed entry.
  bool may_serve_reads() const;
  /// Latest in the log, committed or not (as Raft uses it).
  const configuration& config() const;
  snapshot_meta meta_at_commit() const; ///< index, term, time, configuration as of the commit index
  /// Snapshot meta (term, time, config in force) for an index that is applied and still in the log or the snapshot
  /// base.
  snapshot_meta meta_at(log_index i) const;
  std::vector<progress_view> progress() const;
  /// Ticks since the leader was last heard (0 on the leader); -1: never.
  int ticks_since_leader() const;
  /// One line, for logs and scenarios.
  std::string describe() const;

private:
  friend struct invariant_probe; ///< protocol/raft/invariants
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace belay::raft
