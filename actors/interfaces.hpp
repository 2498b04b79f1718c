#pragma once
// The messages that each actor accepts, and the handles by which the actors of one node send to
// each other. All messages are one-way; a response is a message of its own, matched by id.
// (CAF's request().then() searches its handlers linearly and never cancels their timeouts.)

#include "actors/messages.hpp"

#include <caf/typed_actor.hpp>

namespace belay::actors {

/// Periodic work; each actor schedules its own next tick.
using tick_atom = caf::atom_constant<caf::atom("tick")>;
/// A connection is ready to be accepted.
using somebody_comes_atom = caf::atom_constant<caf::atom("comes")>;
/// Sent by an actor to itself, to arrive after what is already queued: process the batch now.
using flush_atom = caf::atom_constant<caf::atom("flush")>;
/// Sent by an actor to itself: continue long work, after messages that arrived in between.
using go_on_atom = caf::atom_constant<caf::atom("go_on")>;
/// The leader notifies followers of a commit index that no append has carried to them.
using broadcast_commit_atom = caf::atom_constant<caf::atom("spread")>;
/// Ordered shutdown: finish what is in flight, then quit.
using stop_atom = caf::atom_constant<caf::atom("stop")>;

using caf::reacts_to;

// Each line says which actor sends the message, and why.

// clang-format off

using http_gateway_actor = caf::typed_actor<
    reacts_to<write_results>,    // fsm, or raft_peer (forwarded or not done): outcome of propose_write, check_write
    reacts_to<renew_result>,     // raft_peer: the outcome of renew_session
    reacts_to<read_result>,      // fsm, through session_reaper if a session was read: the response to read_query
    reacts_to<status_result>,    // raft_peer: the response to status_request
    reacts_to<archive_packed>,   // checkpointer: the next piece of an archive that a client saves
    reacts_to<archive_unpacked>, // checkpointer: the command to propose, decoded from a client's archive
    reacts_to<cluster_view>,     // raft_peer, on every change: the leader, for responses that name it
    reacts_to<agent_answer>,     // health_checks: the response to agent_call; itself: the result of a reload
    reacts_to<audit_written>,    // audit_log: the response to write_audit
    reacts_to<wait_changed>,     // http_gateway, to the first of its server: clients begin and end waits for locks
    reacts_to<flush_atom>,       // itself, while there are any: waits whose clients have been gone for long enough
    reacts_to<tick_atom>,        // itself, once it listens: clients that are too slow
    reacts_to<stop_atom>         // node: respond to what is in flight, accept nothing new
>;

/// health_checks reads and writes the catalog like a gateway, and has a gateway number. It gets a
/// gateway's write_results, read_result and cluster_view; the node sends the first tick_atom.
using health_checks_actor = http_gateway_actor::extend<
    reacts_to<agent_call>,         // http_gateway: a client's request about this node's services, checks, events
    reacts_to<cancel_query>,       // http_gateway: the client of the call disconnected
    reacts_to<end_wait>,           // http_gateway: the client may be gone, respond without waiting for a change
    reacts_to<event_received>,        // raft_peer: another node fired an event
    reacts_to<reachable_members>,      // raft_peer, while this node leads: members to mark passing or critical
    reacts_to<tables_restored>,    // fsm: the catalog was restored from an archive
    reacts_to<client_agent_contact>, // raft_peer, while this node leads: it is there, or leaves (client_agent_answered)
    reacts_to<probe_finished>,     // itself, when a probe has ended: the result of a check
    reacts_to<registrations_kept>, // registration_keeper: the response to keep_registrations
    reacts_to<change_definitions>, // node, when the configuration is reloaded: the definitions in it
    reacts_to<leave_cluster>       // node, on request of a client or by a signal: this server leaves its cluster
>;

using registration_keeper_actor = caf::typed_actor<
    reacts_to<keep_registrations>, // health_checks: files to write or remove
    reacts_to<stop_atom>           // node
>;

using fsm_actor = caf::typed_actor<
    reacts_to<committed_entries>,  // raft_peer: apply them, in this order
    reacts_to<check_write>,        // http_gateway, health_checks, lock_delay_tracker: reject or forward to raft_peer
    reacts_to<read_query>,         // http_gateway, health_checks: a read; gateway also: a checkpoint for an archive
    reacts_to<cancel_query>,       // http_gateway: the client disconnected
    reacts_to<end_wait>,           // http_gateway, lock_delay_tracker: respond now; to session_reaper if no read here
    reacts_to<barrier_result>,     // raft_peer: the response to barrier_request
    reacts_to<renew_session>,      // http_gateway, for session_reaper: a client renews
    reacts_to<renew_request>,      // raft_peer, for session_reaper: ordered after the entries that are in transit
    reacts_to<lease_extended>,     // raft_peer: default reads need no barrier until then; forwarded to session_reaper
    reacts_to<give_up_lease>,      // raft_peer: the lease ends now; forwarded to session_reaper
    reacts_to<coordinates_known>,  // raft_peer, on every change: network coordinates of the nodes
    reacts_to<cluster_view>,       // raft_peer, on every change; forwarded to session_reaper
    reacts_to<queries_touched>,    // watch_registry: blocking queries to evaluate again
    reacts_to<checkpoint_written>, // checkpointer: the response to write_checkpoint
    reacts_to<catalog_mended>,     // health_checks, on the leader: the response to tables_restored
    reacts_to<machine_replaced>,   // checkpointer: the tables of a snapshot that another node sent
    reacts_to<tick_atom>,          // node once, then itself: checkpoints, tombstones, digests
    reacts_to<flush_atom>,         // itself: one barrier for all reads of this batch
    reacts_to<go_on_atom>,         // itself: free some more of what was removed
    reacts_to<stop_atom>           // node
>;

using watch_registry_actor = caf::typed_actor<
    reacts_to<park_query>,      // fsm: a blocking query that has no result yet
    reacts_to<unpark_query>,    // fsm: it was cancelled, or answered by other means
    reacts_to<publish_effects>, // fsm: what changed; wakes the queries that depend on it
    reacts_to<tick_atom>,       // itself, while there are any: queries whose deadline has passed
    reacts_to<stop_atom>        // node
>;

using lock_delay_tracker_actor = caf::typed_actor<
    reacts_to<await_lock_delay>, // http_gateway: an acquire to retry when the delay is over
    reacts_to<cancel_query>,     // http_gateway: the client disconnected
    reacts_to<end_wait>,         // http_gateway: return the rejection; forwarded to fsm if the acquire went there
    reacts_to<publish_effects>,  // fsm: a restore may have ended delays, retry all; a claim is due at another time
    reacts_to<cluster_view>,     // fsm: whether this node leads and serves, in which term, and how it stamps entries
    reacts_to<tick_atom>,        // itself, when the next delay should be over
    reacts_to<stop_atom>         // node
>;

using session_reaper_actor = caf::typed_actor<
    reacts_to<publish_effects>, // fsm: sessions that were created or ended
    reacts_to<read_result>,     // fsm: a response about one session; add its remaining time and forward it
    reacts_to<cluster_view>,    // fsm: whether this node leads and serves, and in which term
    reacts_to<write_results>,   // fsm: responses about held claims; add their sessions' remaining time and forward
    reacts_to<renew_session>,   // fsm, from http_gateway: a client renews; to raft_peer unless this node leads
    reacts_to<renew_request>,   // fsm, from raft_peer: a client renews, here or through another node
    reacts_to<end_wait>,        // fsm, from http_gateway: forwarded to raft_peer, after a renewal with that id
    reacts_to<lease_extended>,  // fsm, from raft_peer: renewals are valid until then
    reacts_to<give_up_lease>,   // fsm, from raft_peer: renewals end; returned to raft_peer, which then transfers
    reacts_to<tick_atom>,       // itself, while there are any: sessions whose time is up
    reacts_to<flush_atom>,      // itself: a session with an exact TTL is due
    reacts_to<stop_atom>        // node
>;

using raft_peer_actor = caf::typed_actor<
    reacts_to<propose_write>,         // http_gateway, fsm (checked writes): propose it, or forward it to the leader
    reacts_to<renew_session>,         // session_reaper: a client renews, and this node does not lead
    reacts_to<barrier_request>,       // fsm: which index must be applied before the waiting reads are answered
    reacts_to<end_wait>,              // session_reaper, from http_gateway: reject that call if it waits for a leader
    reacts_to<forwarded_results>,     // fsm: responses for the nodes that forwarded writes to this one
    reacts_to<log_written>,           // log_writer: the response to write_log
    reacts_to<frames_received>,       // peer_link: frames from another node
    reacts_to<peer_lost>,             // peer_link: its connection broke
    reacts_to<propose_internal>,      // session_reaper, lock_delay_tracker, fsm, health_checks: only in this term
    reacts_to<renew_answer>,          // session_reaper: the response to renew_request
    reacts_to<checkpoint_written>,    // checkpointer: earlier entries need not be kept
    reacts_to<peer_connected>,        // peer_link: frames reach it now
    reacts_to<dialled_now>,           // peer_link: the response to dial_now
    reacts_to<broadcast_commit_atom>,           // itself: notify followers of the commit index
    reacts_to<snapshot_chunk_loaded>, // checkpointer: the response to load_snapshot_chunk
    reacts_to<snapshot_chunk_stored>, // checkpointer: the response to store_snapshot_chunk
    reacts_to<snapshot_in_force>,     // fsm: it continues from the tables of the snapshot
    reacts_to<leadership_transfer>,  // tests and the simulator: transfer leadership to another server
    reacts_to<give_up_lease>,         // session_reaper: own message returned, the lease is no longer relied on
    reacts_to<change_members>,        // tests and the simulator: make exactly these servers the members
    reacts_to<status_request>,        // http_gateway: status of the cluster; keyring operations on all members
    reacts_to<autopilot_changed>,     // fsm: the settings by which servers are promoted and removed
    reacts_to<client_agent_answered>, // health_checks: the response to client_agent_contact
    reacts_to<keyring_operated>,      // keyring_keeper: the response to operate_keyring
    reacts_to<tick_atom>,             // node once, then itself: the clock of Raft
    reacts_to<flush_atom>,            // itself: carry out what this batch requires
    reacts_to<stop_atom>              // node
>;

using log_writer_actor = caf::typed_actor<
    reacts_to<write_log>,   // raft_peer: append and sync
    reacts_to<compact_log>, // raft_peer: a checkpoint covers the earlier entries
    reacts_to<stop_atom>    // node
>;

using checkpointer_actor = caf::typed_actor<
    reacts_to<write_checkpoint>,     // fsm: the rows that changed
    reacts_to<load_snapshot_chunk>,  // raft_peer: a follower needs the state
    reacts_to<store_snapshot_chunk>, // raft_peer: the leader sent a part of its state
    reacts_to<pack_archive>,         // http_gateway: the next piece, for a client
    reacts_to<unpack_archive>,       // http_gateway: the next piece, from a client
    reacts_to<close_archive>,        // http_gateway: that client is done, or gone
    reacts_to<free_memory>,          // fsm: memory that takes long to free
    reacts_to<stop_atom>             // node
>;

using keyring_keeper_actor = caf::typed_actor<
    reacts_to<operate_keyring>, // raft_peer: list or change the keys of this server
    reacts_to<stop_atom>        // node
>;

using audit_log_actor = caf::typed_actor<
    reacts_to<write_audit>, // http_gateway: lines about requests
    reacts_to<stop_atom>    // node
>;

using peer_link_actor = caf::typed_actor<
    reacts_to<send_frames>, // raft_peer, health_checks (events): to connected nodes; frames to others are dropped
    reacts_to<dial_peers>,  // raft_peer, when the members change: the nodes to connect to
    reacts_to<announce>,    // raft_peer, when it changes: the content of the hello
    reacts_to<dial_now>,    // raft_peer, for an operator: whether a server responds at that address
    reacts_to<tick_atom>,   // node once, then itself: connections to re-establish, dead ones to close
    reacts_to<somebody_comes_atom>, // itself, after a time without connections: one is waiting
    reacts_to<stop_atom>    // node
>;

// clang-format on

/// One node's monotonic clock, unless it is the actor system's (simulated ones have rates and jump)
class node_clock {
public:
  virtual ~node_clock() = default;
  virtual monotonic_time now() const = 0;
  /// How long it takes on the actor system's clock until `own` has passed on this one.
  virtual std::chrono::nanoseconds in_system_time(std::chrono::nanoseconds own) const = 0;
};

/// Strong handles of a node's actors. `node` fills it before the first message and empties it last.
struct node_actors {
  raft_peer_actor raft_peer;
  fsm_actor fsm;
  watch_registry_actor watch_registry;
  session_reaper_actor session_reaper;
  lock_delay_tracker_actor lock_delay_tracker;
  log_writer_actor log_writer;
  checkpointer_actor checkpointer;
  peer_link_actor peer_link;
  health_checks_actor health_checks;
  registration_keeper_actor registration_keeper; ///< none: registrations of the agent are not stored
  keyring_keeper_actor keyring_keeper;           ///< none: this server has no keys, and accepts none
  audit_log_actor audit_log;                     ///< none: nothing is audited
  std::vector<http_gateway_actor> gateways;      ///< by the gateway number in request ids; `health_checks` is the last

  std::shared_ptr<const node_clock> clock; ///< null: the actor system's
  std::function<void()> fail_stop;         ///< null: abort(); otherwise it throws
};
using node_actors_ptr = std::shared_ptr<node_actors>;

/// Number of the gateway that created a request id.
inline std::size_t gateway_of(request_id id) {
  return static_cast<std::size_t>(id.value >> 48);
}

} // namespace belay::actors
