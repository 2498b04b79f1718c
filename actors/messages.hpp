#pragma once
// What the actors of one node tell each other. All of it stays inside the process; nodes speak protocol/wire frames.

#include "protocol/acl/authorizer.hpp"
#include "protocol/agent/local_agent.hpp"
#include "protocol/coordinates/table.hpp"
#include "protocol/forward/requests.hpp"
#include "protocol/http/request.hpp"
#include "protocol/raft/cluster_clock.hpp"
#include "protocol/raft/core.hpp"
#include "protocol/state/machine.hpp"
#include "protocol/wire/frame_codec.hpp"
#include "storage/checkpoint/checkpoint_store.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/atom.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace belay::actors {

using monotonic_time = std::chrono::steady_clock::time_point;

// ---- gateway -> raft_peer: writes

/// `id`'s upper 16 bits are the gateway's number, so that the answer finds it.
struct propose_write {
  request_id id;
  payload command; ///< encoded; else what its kind says
  wire::call_kind kind = wire::call_kind::propose;
};
/// gateway -> fsm: a write whose arguments the state machine may refuse before it costs a log entry (docs/contract/04,
/// section 3); passed on to raft_peer otherwise.
struct check_write {
  request_id id;
  state::command command;
  /// health_checks on a client agent: in whose name servers are asked for it; empty: the agent's.
  std::string token = {};
};
/// Renewals of sessions: kept by the leader's session_reaper, not replicated.
struct renew_session {
  request_id id;
  std::string sessions; ///< one ID, or several (forward::renewal_list)
};

// ---- fsm or raft_peer -> gateway: the three outcomes. Unknown stays unknown: it may have happened

struct write_result {
  request_id id;
  wire::call_outcome outcome = wire::call_outcome::unknown; ///< done, refused or unknown
  state::reply reply;                                       ///< done
  log_index index;                                          ///< done: of the entry
  std::string text;                                         ///< refused, unknown: for the client, with status 500
  std::uint64_t session_ttl_ms = 0; ///< left to the session of a claim that is held; zero: no TTL, or not known here
};
/// All of one turn in one message.
struct write_results {
  std::vector<write_result> list;
};
struct renew_result {
  request_id id;
  bool ok = false;
  state::session_ptr session; ///< null: no such session
  std::string text;           ///< !ok
  /// Of several, in their order: how long each lives now, in milliseconds, zero if it has no TTL; nullopt: no such session, or it is about to end.
  std::vector<std::optional<std::uint64_t>> of_list = {};
};

// ---- gateway -> fsm: reads

struct read_query {
  request_id id;
  http::read_request request;
  monotonic_time deadline; ///< min_index > 0: answer then at the latest
  bool archive = false;    ///< no query: write a checkpoint and answer with its index
  /// A claim_status, asked for by the entry `min_index`: not answered as long as the claim waits, whatever else changes.
  bool until_decided = false;
};
/// The client went away: forget the parked query.
struct cancel_query {
  request_id id;
};
/// The client sends nothing more and may be gone: answer with what is known now instead of waiting for a change, a grant or a leader.
/// Changes nothing for a request that does not wait. Follows the path of the request (see end_wait in interfaces.hpp).
struct end_wait {
  request_id id;
};
struct read_result {
  request_id id;
  std::variant<state::query_result, failure> answer; ///< failure: text for status 500
  std::uint64_t last_contact_ms = 0;
  bool known_leader = true;
  std::uint64_t lock_delay_ms = 0;  ///< of the one key that was read; zero: none
  std::uint64_t session_ttl_ms = 0; ///< left to the one session that was read; zero: no TTL, or not known here
  /// If not null, this is the answer: many rows, of which others that waited for the same get the same.
  std::shared_ptr<const state::query_result> shared = {};
  bool waited = false; ///< for a change, or until its time was over

  /// Null: it failed.
  const state::query_result* found() const { return shared ? shared.get() : std::get_if<state::query_result>(&answer); }
};

/// http_gateway -> the first gateway of its server: of a request that waits, or may wait, for the lock of a key.
struct wait_changed {
  /// asked_at zero: the request is on its way to the log.
  state::wait_ref wait;
  bool disconnected = false; ///< its client ended the connection; false: it asks
  monotonic_time until{};    ///< disconnected: the wait is over then anyway
};

// ---- fsm -> raft_peer and back: linearizable reads

/// `lease_ok`: default mode; else leadership is confirmed by a quorum after this message.
struct barrier_request {
  std::uint64_t id = 0;
  bool lease_ok = false;
  bool waits = true; ///< false: fails at once while there is no leader
};
/// ok: serve once `index` is applied. Else `text` goes to the client.
struct barrier_result {
  std::uint64_t id = 0;
  bool ok = false;
  log_index index;
  std::string text;
};

// ---- gateway -> health_checks and back: the agent's services and checks, events

struct agent_call {
  request_id id;
  agent::request what;
  std::shared_ptr<const acl::authorizer> may = {}; ///< what whoever asks may do; null: everything
};
struct agent_answer {
  request_id id;
  agent::reply reply;
};
/// raft_peer -> health_checks: another node fired an event.
struct event_heard {
  agent::user_event event;
};
/// health_checks -> itself, when a probe has ended: a check was run.
struct probe_finished {
  agent::check_schedule::run run;
  std::string status, output;
};
/// health_checks -> registration_keeper and back. Names of files, and their bytes; empty: remove it.
struct keep_registrations {
  std::vector<std::pair<std::string, std::string>> files;
  std::uint64_t token = 0; ///< 0: need not survive a crash, and nobody waits for it
};
struct registrations_kept {
  std::uint64_t token = 0;
  std::string error; ///< not empty: some were not
};

/// node -> health_checks: what the configuration says now. `then` is called once, with what is wrong; then nothing was changed.
struct change_definitions {
  agent::configured_definitions now;
  std::function<void(status)> then;
};

/// node -> health_checks: this server shall leave its cluster. `then` is called once: ok if it belongs to none any more.
struct leave_cluster {
  std::function<void(status)> then;
};

/// fsm -> health_checks: an archive took the place of all tables on this server, the catalog with them.
struct tables_restored {
  log_index at; ///< state::machine::restored_at()
};
/// health_checks -> fsm, on the leader: since that restore the catalog names the members of this cluster again, and no
/// servers of another one.
struct catalog_mended {
  log_index restored_at;
};

// ---- raft_peer -> fsm

/// Who waits for an entry; id zero: nobody on this node's account.
using forward::origin;
struct committed_entries {
  std::vector<raft::entry> entries;
  std::vector<origin> origins; ///< one for each entry, or empty: none of them has one
};
/// raft_peer -> fsm: where nodes are, as far as this server knows.
struct coordinates_known {
  coordinates::table_ptr table; ///< never null
};
/// Answers of forwarded writes, fsm -> raft_peer.
struct forwarded_results {
  std::vector<std::pair<node_id, wire::forward_reply>> list;
};

/// Who leads and who belongs to the cluster, raft_peer -> everybody, on every change.
struct cluster_view {
  raft::soft_state soft;
  raft::configuration config;
  node_id self;
  bool serving = false;        ///< leader whose own term has a committed entry
  raft::cluster_clock clock{}; ///< serving: how it stamps entries
  state::history_scope history{};
};
/// raft_peer -> health_checks, while this node leads and serves: which members it hears, on every change. Those that are
/// not listed have been silent since this term began, and not for long.
struct members_heard {
  term_id term;
  std::vector<std::pair<node_id, bool>> list;
  bool operator==(const members_heard&) const = default;
};
/// fsm -> raft_peer, at the beginning and on every change: what operators want of the set of servers.
struct autopilot_changed {
  state::autopilot_settings settings;
};
/// raft_peer -> health_checks, while this node leads: a client agent has told that it is there, or that it leaves.
struct client_agent_heard {
  forward::agent_heard agent;
  origin from; ///< who waits for the answer
};
/// health_checks -> raft_peer, the answer: true, or why the agent is not taken for a node of this cluster.
struct client_agent_answered {
  origin from;
  state::reply reply;
};
/// Own clock; raft_peer -> fsm -> session_reaper. Until then nobody else leads: default reads need no barrier, and
/// renewals count. Zero: no lease.
struct lease_extended {
  monotonic_time until;
};

/// -> raft_peer, on the leader: another server shall lead. Nothing happens if it cannot (not a voter, too far behind).
struct hand_over_leadership {
  node_id to;
};
/// -> raft_peer, on the leader: exactly these shall belong to the cluster (joint consensus). Nothing happens while
/// another change is under way.
struct change_members {
  raft::configuration target;
};
/// raft_peer -> fsm -> session_reaper -> raft_peer: default reads and renewals are over before anybody else can lead.
struct give_up_lease {
  node_id to; ///< who shall lead then; zero: whoever is elected, as this server leaves the configuration
};

// ---- log_writer

struct write_log {
  std::vector<raft::persist_batch> batches; ///< one group commit
};
/// All batches up to the token are durable.
struct log_written {
  std::uint64_t token = 0;
  std::chrono::nanoseconds took{0};
  std::size_t batches = 0;
  std::string disk_full; ///< not empty: nothing was written, try again later; text for the log
};
struct compact_log {
  log_index first_kept;
};

// ---- checkpointer

/// fsm -> checkpointer: everything since the last one. Rows are encoded over there.
struct write_checkpoint {
  raft::snapshot_meta meta;
  std::uint64_t digest = 0;
  bool full = false;
  state::dirty_rows rows;                        ///< empty with `full`
  std::shared_ptr<const state::frozen_rows> all; ///< with `full`
  state::unkept_changes changes;                 ///< of keys, which are kept beside it
  std::uint64_t log_bytes = 0;                   ///< of the entries since the last one
};
/// checkpointer -> fsm and raft_peer
struct checkpoint_written {
  raft::snapshot_meta meta;
  std::chrono::nanoseconds took{0};
  std::string error;         ///< not empty: not written (disk or map full), or not proven; the state stays in memory
  bool unproven = false;     ///< with an error: it was written, and read back different
  log_index log_needed_from; ///< entries from there on are needed behind the older generation
  bool changes_kept = false; ///< false: the changes that came with it are not on the disk
};
/// raft_peer -> checkpointer and back: a follower needs the state.
struct load_snapshot_chunk {
  raft::snapshot_read what;
};
struct snapshot_chunk_loaded {
  node_id to;
  std::uint64_t offset = 0;
  storage::checkpoint_store::chunk chunk;
  std::string error; ///< not empty: unavailable
};
struct store_snapshot_chunk {
  raft::snapshot_write what;
};
struct snapshot_chunk_stored {
  raft::snapshot_meta meta;
  std::uint64_t next_offset = 0;
  bool last = false;
  std::string error;
  bool no_space = false; ///< that is the error
};
/// checkpointer -> fsm: the tables were replaced by an installed snapshot. fsm then tells raft_peer snapshot_in_force.
struct machine_replaced {
  raft::snapshot_meta meta;
  std::shared_ptr<state::machine> machine;
};
struct snapshot_in_force {
  raft::snapshot_meta meta;
  state::feature_level level = 0; ///< of commands whose effects are in the tables now
};

// ---- gateway -> checkpointer and back: snapshots of operators. `archive` is the same for all messages about one.

/// The next piece; the first call begins an archive of the newest checkpoint.
struct pack_archive {
  request_id id, archive;
};
struct archive_packed {
  request_id id;
  log_index index; ///< of the state in the archive
  std::string bytes;
  bool last = false;
  std::string error; ///< not empty: no more comes
};
/// More of an archive that is restored.
struct unpack_archive {
  request_id id, archive;
  std::string restore_id;                  ///< for the commands
  std::optional<state::authority> by = {}; ///< in whose name it is put in force
  std::string bytes;
  bool last = false;
};
struct archive_unpacked {
  request_id id;
  payload command;                            ///< encoded, to be proposed; null: more bytes are needed
  std::optional<state::restore_begin> begins; ///< the command is this one
  bool last = false;                          ///< the command puts everything in force
  std::string error;                          ///< not empty: it is no archive, or a damaged one
};
/// Forget it.
struct close_archive {
  request_id archive;
};
/// fsm -> checkpointer: tables and rows that are not used any more. It is freed with the message, on the thread that gets it.
struct free_memory {
  std::vector<std::shared_ptr<const void>> list;
};

// ---- watch_registry

struct park_query {
  request_id id;
  state::query query;
  monotonic_time deadline;
};
struct unpark_query {
  request_id id;
};
struct publish_effects {
  state::effects changed;
  log_index applied = {}; ///< all entries up to this one; to watch_registry only
};
/// watch_registry -> fsm: look again. `expired`: the time is up, answer whatever it is.
struct queries_touched {
  std::vector<request_id> ids;
  bool expired = false;
  log_index quiet_up_to =
      {}; ///< of what was published up to this index nothing has touched them since they were parked, or looked at
};

// ---- lock_delay_tracker

/// http_gateway -> lock_delay_tracker: it was refused for a lock-delay that lasts so long; check_write it then.
struct await_lock_delay {
  request_id id;
  state::command acquire;
  std::chrono::nanoseconds left{0};
  write_result refused = {}; ///< the answer if the wait ends before the acquire is tried again
};

// ---- session_reaper (fsm -> it: publish_effects, cluster_view)

/// session_reaper -> raft_peer: a proposal that only this term's leader may make (docs/pitfalls.md R25).
struct propose_internal {
  term_id required_term;
  payload command;
};
/// raft_peer -> fsm -> session_reaper: renewals, own and forwarded. By way of the fsm, so that the reaper knows of every
/// session that a client was told to be ended.
struct renew_request {
  origin from;
  std::string sessions;    ///< as in renew_session
  monotonic_time deadline; ///< until then it may be asked again, of this leader or the next
  term_id confirmed =
      {}; ///< a quorum confirmed the leader of that term after the request had come; zero: its lease has to do
};
/// session_reaper -> raft_peer
struct renew_answer {
  renew_request asked;
  bool known = false;                                     ///< false: not the leader, or not sure of it: ask again
  state::session_ptr session;                             ///< null: there is no such session
  std::vector<std::optional<std::uint64_t>> of_list = {}; ///< as in renew_result
};

// ---- keyring_keeper

/// raft_peer -> keyring_keeper: what an operator wants of this server's keys, asked here or through a peer.
struct operate_keyring {
  origin from;
  forward::keyring_operation what;
};
/// keyring_keeper -> raft_peer
struct keyring_operated {
  origin from;
  forward::keyring_answer answer;
};

// ---- audit_log

/// http_gateway -> audit_log: whole lines. The gateway sends the next ones when it has the answer.
struct write_audit {
  std::uint16_t gateway = 0;
  std::shared_ptr<const std::string> lines; ///< never null
};
/// audit_log -> http_gateway
struct audit_written {
  std::size_t lines = 0, bytes = 0; ///< that are in the file: the first ones
  std::string error;                ///< not empty: why the rest is not
};

// ---- peer_link

struct send_frames {
  std::vector<std::pair<node_id, wire::frame>> list;
};
struct frames_received {
  node_id from;
  std::vector<wire::frame> list;
  bool proven = false; ///< it has shown credentials on the connection that they came on
};
/// Frames for that peer can be sent from now on. Twice in a row: it was reconnected.
struct peer_connected {
  node_id peer;
  bool encrypted = false; ///< what is sent to it; and it has shown credentials
};
/// The connection from or to that peer is gone; what was sent last may be lost.
struct peer_lost {
  node_id peer;
  bool heard = false; ///< there still is one on which it speaks to us: what it has said of itself stays true
};
/// Keep connections to exactly these (host:port) and to whoever connects to us.
struct dial_peers {
  std::vector<std::string> addresses;
  /// Of the configuration, with their addresses; others are strangers, for whom there is little room.
  std::map<node_id, std::string> members;
};
/// Dial it now, and tell how that went.
struct dial_now {
  std::string address; ///< host:port
};
/// peer_link -> raft_peer
struct dialled_now {
  std::string address;
  std::string error; ///< empty: connected; as Go would say it
};
/// What this node says of itself in hello frames from now on.
struct announce {
  wire::hello hello;
};

// ---- operators

struct status_request {
  request_id id;
  http::local_request what;
};
struct peer_status {
  raft::member member;
  bool voter = true;
  bool replica = false; ///< it says that it is to have no vote
  /// It is this server, or was received from within raft_peer_settings::member_silence, as far as this server knows.
  bool alive = false;
  raft::progress_view progress;
};
/// raft_peer -> gateway
struct status_result {
  request_id id;
  cluster_view view;
  log_index commit, applied, last, first, snapshot_index;
  log_index leader_commit;          ///< at least `commit`: what the leader has committed, as it said last
  bool disk_full = false;           ///< this server cannot store what the leader sends, or what it proposes itself
  bool checkpoint_unproven = false; ///< vitals::checkpoint_unproven
  term_id last_term, snapshot_term;
  int ms_since_leader = 0; ///< -1: never heard
  std::uint64_t digest = 0;
  log_index digest_at;
  agent::agent_counts registered; ///< with this node
  coordinates::coordinate place;  ///< of this server; the origin if it measures none
  std::vector<coordinates::row>
      servers; ///< where members are whose coordinate is known, by name; only if that is asked
  std::vector<peer_status> peers;
};

template <class T>
std::true_type is_message(const T*); // never called: see below

} // namespace belay::actors

namespace belay {
/// A class that is declared in namespace actors: only for such a one the compiler finds is_message.
template <class T>
concept local_message = std::is_class_v<T> && requires(const T* m) {
  is_message(m);
};
} // namespace belay

// CAF sends what it can write as bytes, and what is said to never leave the process. All that is declared above never does.
namespace caf {
template <belay::local_message T>
struct allowed_unsafe_message_type<T> : std::true_type {};
} // namespace caf
