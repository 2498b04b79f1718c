#pragma once
// Messages between the actors of a node. They stay in the process; nodes send protocol/wire frames.

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

/// `id`'s upper 16 bits are the gateway's number, by which the response is routed.
struct propose_write {
  request_id id;
  payload command; ///< an encoded command, or for other kinds the payload of that kind
  wire::call_kind kind = wire::call_kind::propose;
};
/// gateway -> fsm: a write that the state machine may reject by its arguments before it costs a log
/// entry (docs/contract/04, section 3). Otherwise fsm forwards it to raft_peer.
struct check_write {
  request_id id;
  state::command command;
  /// health_checks on a client agent: token for the request to the servers; empty: the agent's
  std::string token = {};
};
/// Renewals of sessions: recorded by the leader's session_reaper, not replicated.
struct renew_session {
  request_id id;
  std::string sessions; ///< one ID, or several (forward::renewal_list)
};

// ---- fsm or raft_peer -> gateway: the three outcomes. Unknown stays unknown: it may have happened

struct write_result {
  request_id id;
  wire::call_outcome outcome = wire::call_outcome::unknown; ///< done, refused (rejected) or unknown
  state::reply reply;                                       ///< done
  log_index index;                                          ///< done: of the entry
  std::string text;                                         ///< refused, unknown: for the client, with status 500
  std::uint64_t session_ttl_ms = 0; ///< left to the session of a held claim; zero: no TTL, or not known here
};
/// All results of one batch in one message.
struct write_results {
  std::vector<write_result> list;
};
struct renew_result {
  request_id id;
  bool ok = false;
  state::session_ptr session; ///< null: no such session
  std::string text;           ///< !ok
  /// For a list of sessions: the lifetime of each in ms, in order; zero: no TTL; nullopt: no such
  /// session, or it is ending.
  std::vector<std::optional<std::uint64_t>> of_list = {};
};

// ---- gateway -> fsm: reads

struct read_query {
  request_id id;
  http::read_request request;
  monotonic_time deadline; ///< min_index > 0: respond no later than this
  bool archive = false;    ///< no query: write a checkpoint and respond with its index
  /// The query is a claim_status requested by entry `min_index`: respond when the claim is decided.
  bool until_decided = false;
};
/// The client disconnected: drop the parked query.
struct cancel_query {
  request_id id;
};
/// The client sends no more and may be gone: respond with what is known, do not wait for a change,
/// grant or leader. No effect on requests that do not wait. Takes their path (end_wait,
/// interfaces.hpp).
struct end_wait {
  request_id id;
};
struct read_result {
  request_id id;
  std::variant<state::query_result, failure> answer; ///< failure: text for status 500
  std::uint64_t last_contact_ms = 0;
  bool known_leader = true;
  std::uint64_t lock_delay_ms = 0;  ///< lock delay of the one key that was read; zero: none
  std::uint64_t session_ttl_ms = 0; ///< time left to the one session that was read; zero: no TTL, or not known here
  /// If not null, this is the response: many rows, shared by all clients that waited for them.
  std::shared_ptr<const state::query_result> shared = {};
  bool waited = false; ///< for a change, or until its deadline

  /// Null: the read failed.
  const state::query_result* found() const { return shared ? shared.get() : std::get_if<state::query_result>(&answer); }
};

/// http_gateway -> first gateway of its server: a request waits, or may wait, for a key's lock.
struct wait_changed {
  /// requested_at zero: the request was sent to the log.
  state::wait_ref wait;
  bool disconnected = false; ///< its client closed the connection; false: the request begins
  monotonic_time until{};    ///< disconnected: the wait ends then in any case
};

// ---- fsm -> raft_peer and back: linearizable reads

/// `lease_ok`: default mode. Otherwise a quorum confirms leadership after this message.
struct barrier_request {
  std::uint64_t id = 0;
  bool lease_ok = false;
  bool waits = true; ///< false: fails at once while there is no leader
};
/// ok: respond once `index` is applied. Otherwise `text` goes to the client.
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
  std::shared_ptr<const acl::authorizer> may = {}; ///< permissions of the caller; null: everything
};
struct agent_answer {
  request_id id;
  agent::reply reply;
};
/// raft_peer -> health_checks: another node fired an event.
struct event_received {
  agent::user_event event;
};
/// health_checks -> itself, when a probe has ended: the result of a check.
struct probe_finished {
  agent::check_schedule::run run;
  std::string status, output;
};
/// health_checks -> registration_keeper and back, one at a time: the next follows the response.
/// File names and contents; empty: remove the file.
struct keep_registrations {
  std::vector<std::pair<std::string, std::string>> files;
  std::uint64_t token = 0; ///< 0: need not survive a crash, and no client waits for it
};
struct registrations_kept {
  std::uint64_t token = 0;
  std::string error; ///< not empty: some files were not written
};

/// node -> health_checks: definitions of the configuration. `then` is called once; error: no effect
struct change_definitions {
  agent::configured_definitions now;
  std::function<void(status)> then;
};

/// node -> health_checks: leave the cluster. `then` is called once: ok if this server has left.
struct leave_cluster {
  std::function<void(status)> then;
};

/// fsm -> health_checks: an archive replaced all tables on this server, including the catalog.
struct tables_restored {
  log_index at; ///< state::machine::restored_at()
};
/// health_checks -> fsm, on the leader: the catalog has been corrected after that restore.
/// It names the members of this cluster, and no servers of another one.
struct catalog_mended {
  log_index restored_at;
};

// ---- raft_peer -> fsm

/// Origin of an entry, which gets the result; id zero: no request of this node waits.
using forward::origin;
struct committed_entries {
  std::vector<raft::entry> entries;
  std::vector<origin> origins; ///< one for each entry, or empty: none of them has one
};
/// raft_peer -> fsm: coordinates of the nodes, as far as this server knows them.
struct coordinates_known {
  coordinates::table_ptr table; ///< never null
};
/// Responses to forwarded writes, fsm -> raft_peer.
struct forwarded_results {
  std::vector<std::pair<node_id, wire::forward_reply>> list;
};

/// Leader and members of the cluster, raft_peer -> all that use them, on every change.
struct cluster_view {
  raft::soft_state soft;
  raft::configuration config;
  node_id self;
  bool serving = false;        ///< this is the leader, and an entry of its own term is committed
  raft::cluster_clock clock{}; ///< the clock that stamps entries, if `serving`
  state::history_scope history{};
};
/// raft_peer -> health_checks, while this node leads and serves: which members respond, on every
/// change. Members that are not listed have been silent since this term began, and not for long.
struct reachable_members {
  term_id term;
  std::vector<std::pair<node_id, bool>> list;
  bool operator==(const reachable_members&) const = default;
};
/// fsm -> raft_peer, at the start and on every change: the operators' settings for autopilot.
struct autopilot_changed {
  state::autopilot_settings settings;
};
/// raft_peer -> health_checks, while this node leads: a client agent announced itself, or leaves.
struct client_agent_contact {
  forward::agent_received agent;
  origin from; ///< destination of the response
};
/// health_checks -> raft_peer, the response: true, or why the agent may not join this cluster.
struct client_agent_answered {
  origin from;
  state::reply reply;
};
/// Own clock; raft_peer -> fsm -> session_reaper. Until then no other server leads:
/// default reads need no barrier, and renewals are valid. Zero: no lease.
struct lease_extended {
  monotonic_time until;
};

/// -> raft_peer, on the leader: transfer leadership. No effect if impossible (no voter, too old).
struct leadership_transfer {
  node_id to;
};
/// -> raft_peer, on the leader: make exactly these the members of the cluster (joint consensus).
/// No effect while another change is in progress.
struct change_members {
  raft::configuration target;
};
/// raft_peer -> fsm -> session_reaper -> raft_peer: end default reads and renewals, then hand over.
struct give_up_lease {
  node_id to; ///< the next leader; zero: the server that is elected, because this one leaves the configuration
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
  std::string disk_full; ///< not empty: nothing was written, retry later; text for the log
};
struct compact_log {
  log_index first_kept;
};

// ---- checkpointer

/// fsm -> checkpointer: all changes since the last checkpoint. The checkpointer encodes the rows.
struct write_checkpoint {
  raft::snapshot_meta meta;
  std::uint64_t digest = 0;
  bool full = false;
  state::dirty_rows rows;                        ///< empty with `full`
  std::shared_ptr<const state::frozen_rows> all; ///< with `full`
  state::unkept_changes changes;                 ///< changes of keys; stored beside the checkpoint
  std::uint64_t log_bytes = 0;                   ///< size of the entries since the last checkpoint
};
/// checkpointer -> fsm and raft_peer
struct checkpoint_written {
  raft::snapshot_meta meta;
  std::chrono::nanoseconds took{0};
  std::string error;         ///< not empty: not written (disk or map full), or not proven; the state stays in memory
  bool unproven = false;     ///< with an error: it was written, but reads back differently
  log_index log_needed_from; ///< the older generation needs the entries from this one on
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
  bool no_space = false; ///< the error is a full disk
};
/// checkpointer -> fsm: a snapshot replaced all tables. fsm then sends raft_peer snapshot_in_force.
struct machine_replaced {
  raft::snapshot_meta meta;
  std::shared_ptr<state::machine> machine;
};
struct snapshot_in_force {
  raft::snapshot_meta meta;
  state::feature_level level = 0; ///< level of commands whose effects are in the tables now
};

// ---- gateway -> checkpointer and back: snapshots of operators. All about one have its `archive`

/// Requests the next piece; the first request starts an archive of the newest checkpoint.
struct pack_archive {
  request_id id, archive;
};
struct archive_packed {
  request_id id;
  log_index index; ///< index of the state in the archive
  std::string bytes;
  bool last = false;
  std::string error; ///< not empty: the archive ends here, incomplete
};
/// More bytes of an archive to restore.
struct unpack_archive {
  request_id id, archive;
  std::string restore_id;                     ///< part of the commands
  std::optional<state::auth_context> by = {}; ///< token on whose behalf the archive is restored
  std::string bytes;
  bool last = false;
};
struct archive_unpacked {
  request_id id;
  payload command;                            ///< encoded, to be proposed; null: more bytes are needed
  std::optional<state::restore_begin> begins; ///< set if this is the command
  bool last = false;                          ///< the command puts everything in force
  std::string error;                          ///< not empty: not an archive, or a damaged one
};
/// Drops the archive.
struct close_archive {
  request_id archive;
};
/// fsm -> checkpointer: tables and rows no longer used. The receiving thread frees the message.
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
  log_index applied = {}; ///< all entries up to this one; only for watch_registry
};
/// watch_registry -> fsm: evaluate again. `expired`: the deadline has passed, respond anyway.
struct queries_touched {
  std::vector<request_id> ids;
  bool expired = false;
  /// Nothing published up to this index has affected them since they were parked, or evaluated.
  log_index quiet_up_to = {};
};

// ---- lock_delay_tracker

/// http_gateway -> lock_delay_tracker: rejected for a lock delay of `left`; check_write after that.
struct await_lock_delay {
  request_id id;
  state::command acquire;
  std::chrono::nanoseconds left{0};
  write_result refused = {}; ///< the response if the wait ends before the acquire is retried
};

// ---- session_reaper (fsm -> it: publish_effects, cluster_view)

/// session_reaper -> raft_peer: a proposal that is valid only in this term (docs/internals/pitfalls.md R25).
struct propose_internal {
  term_id required_term;
  payload command;
};
/// raft_peer -> fsm -> session_reaper: own and forwarded renewals. They pass through the fsm
/// so that the reaper has applied each session's end that a client has seen.
struct renew_request {
  origin from;
  std::string sessions;    ///< as in renew_session
  monotonic_time deadline; ///< until then it may be retried, with this leader or the next
  /// A quorum confirmed that term's leader after the request arrived; zero: relies on the lease.
  term_id confirmed = {};
};
/// session_reaper -> raft_peer
struct renew_answer {
  renew_request requested;
  bool known = false;                                     ///< false: not the leader, or not confirmed; retry
  state::session_ptr session;                             ///< null: there is no such session
  std::vector<std::optional<std::uint64_t>> of_list = {}; ///< as in renew_result
};

// ---- keyring_keeper

/// raft_peer -> keyring_keeper: an operation on this server's keys, requested here or by a peer.
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

/// http_gateway -> audit_log: whole lines. The gateway sends more when it has the response.
struct write_audit {
  std::uint16_t gateway = 0;
  std::shared_ptr<const std::string> lines; ///< never null
};
/// audit_log -> http_gateway
struct audit_written {
  std::size_t lines = 0, bytes = 0; ///< number written to the file, from the first one on
  std::string error;                ///< not empty: why the rest was not written
};

// ---- peer_link

struct send_frames {
  std::vector<std::pair<node_id, wire::frame>> list;
};
struct frames_received {
  node_id from;
  std::vector<wire::frame> list;
  bool proven = false; ///< the peer has shown credentials on this connection
};
/// Frames can be sent to that peer from now on. Twice in a row: it was reconnected.
struct peer_connected {
  node_id peer;
  bool encrypted = false; ///< frames to it are encrypted, and it has shown credentials
};
/// The connection from or to that peer is gone; frames sent last may be lost.
struct peer_lost {
  node_id peer;
  bool reachable = false; ///< it still has a connection on which it sends: what it announced stays valid
};
/// Maintain connections to exactly these (host:port), and accept those that others make.
struct dial_peers {
  std::vector<std::string> addresses;
  /// Members of the configuration with their addresses; unverified peers are limited in number.
  std::map<node_id, std::string> members;
};
/// Connect to it now, and report the result.
struct dial_now {
  std::string address; ///< host:port
};
/// peer_link -> raft_peer
struct dialled_now {
  std::string address;
  std::string error; ///< empty: connected; otherwise Go's text for the error
};
/// What this node sends about itself in hello frames from now on.
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
  bool replica = false; ///< it announced that it must not have a vote
  /// This server itself, or one that sent a frame within raft_peer_settings::member_silence.
  bool alive = false;
  raft::progress_view progress;
};
/// raft_peer -> gateway
struct status_result {
  request_id id;
  cluster_view view;
  log_index commit, applied, last, first, snapshot_index;
  log_index leader_commit;          ///< at least `commit`: the commit index that the leader reported last
  bool disk_full = false;           ///< this server cannot store what the leader sends, or what it proposes itself
  bool checkpoint_unproven = false; ///< vitals::checkpoint_unproven
  term_id last_term, snapshot_term;
  int ms_since_leader = 0; ///< -1: no message from it yet
  std::uint64_t digest = 0;
  log_index digest_at;
  agent::agent_counts registered;     ///< registered with this node
  coordinates::coordinate coordinate; ///< this server's coordinate; the origin if it measures none
  /// Coordinates of the members whose coordinate is known, by name; only on request.
  std::vector<coordinates::row> servers;
  std::vector<peer_status> peers;
};

template <class T>
std::true_type is_message(const T*); // never called: see below

} // namespace belay::actors

namespace belay {
/// A class declared in namespace actors: only for these does the compiler find is_message.
template <class T>
concept local_message = std::is_class_v<T> && requires(const T* m) {
  is_message(m);
};
} // namespace belay

// CAF requires a mark on types that it cannot serialize: they never leave the process.
namespace caf {
template <belay::local_message T>
struct allowed_unsafe_message_type<T> : std::true_type {};
} // namespace caf
