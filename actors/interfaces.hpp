#pragma once
// What each actor understands, and the handles by which the actors of one node know each other. Everything is one-way: answers
// are messages of their own, matched by id. (CAF's request().then() finds its handlers by a linear search and never cancels
// their time-outs.)

#include "actors/messages.hpp"

#include <caf/typed_actor.hpp>

namespace belay::actors {

/// Periodic work; each actor re-arms its own.
using tick_atom = caf::atom_constant<caf::atom("tick")>;
/// There is a connection to be accepted.
using somebody_comes_atom = caf::atom_constant<caf::atom("comes")>;
/// Sent by an actor to itself, so that it comes behind what is queued already: do the batch now.
using flush_atom = caf::atom_constant<caf::atom("flush")>;
/// Sent by an actor to itself: go on with long work, of which others have had their turn in between.
using go_on_atom = caf::atom_constant<caf::atom("go_on")>;
/// The leader tells followers of a commit that no append has carried to them.
using spread_atom = caf::atom_constant<caf::atom("spread")>;
/// Ordered shutdown: finish what is in flight, then quit.
using stop_atom = caf::atom_constant<caf::atom("stop")>;

using caf::reacts_to;

// Each line says who sends the message, and what for.

// clang-format off

using http_gateway_actor = caf::typed_actor<
    reacts_to<write_results>,    // fsm, or raft_peer if it was forwarded or not done: the outcome of propose_write, check_write
    reacts_to<renew_result>,     // raft_peer: the outcome of renew_session
    reacts_to<read_result>,      // fsm, by way of session_reaper if a session was read: the answer to read_query
    reacts_to<status_result>,    // raft_peer: the answer to status_request
    reacts_to<archive_packed>,   // checkpointer: the next piece of an archive that a client saves
    reacts_to<archive_unpacked>, // checkpointer: what a client's archive means, as a command to be proposed
    reacts_to<cluster_view>,     // raft_peer, on every change: who leads, for answers that say so
    reacts_to<agent_answer>,     // health_checks: the answer to agent_call; itself: the configuration was reloaded, or not
    reacts_to<audit_written>,    // audit_log: the answer to write_audit
    reacts_to<wait_changed>,     // http_gateway, to the first one of its server: clients that wait for locks come and go
    reacts_to<flush_atom>,       // itself, as long as there are any: waits whose clients have been gone for long enough
    reacts_to<tick_atom>,        // itself, once it listens: clients that are too slow
    reacts_to<stop_atom>         // node: answer what is in flight, take nothing new
>;

/// Reads and writes the catalog like a gateway, and so has a number like one. Of the gateway's messages it gets write_results,
/// read_result and cluster_view; the node sends the first tick_atom.
using health_checks_actor = http_gateway_actor::extend<
    reacts_to<agent_call>,         // http_gateway: a client's request about this node's services, checks, events
    reacts_to<cancel_query>,       // http_gateway: that client went away
    reacts_to<end_wait>,           // http_gateway: that client may be gone, answer without waiting for a change
    reacts_to<event_heard>,        // raft_peer: another node fired an event
    reacts_to<members_heard>,      // raft_peer, while this node leads: whose rows shall say alive, whose dead
    reacts_to<tables_restored>,    // fsm: the catalog is that of an archive now
    reacts_to<client_agent_heard>, // raft_peer, while this node leads: it is there, or leaves; client_agent_answered comes back
    reacts_to<probe_finished>,     // itself, when a probe has ended: the result of a check
    reacts_to<registrations_kept>, // registration_keeper: the answer to keep_registrations
    reacts_to<change_definitions>, // node, when the configuration is reloaded: what it defines now
    reacts_to<leave_cluster>       // node, for a client or a signal: this server leaves
>;

using registration_keeper_actor = caf::typed_actor<
    reacts_to<keep_registrations>, // health_checks: files to write or remove
    reacts_to<stop_atom>           // node
>;

using fsm_actor = caf::typed_actor<
    reacts_to<committed_entries>,  // raft_peer: apply them, in this order
    reacts_to<check_write>,        // http_gateway, health_checks, lock_delay_tracker: refuse it, or pass it on to raft_peer
    reacts_to<read_query>,         // http_gateway, health_checks: a read; the gateway also: make a checkpoint for an archive
    reacts_to<cancel_query>,       // http_gateway: the client went away
    reacts_to<end_wait>,           // http_gateway, lock_delay_tracker: answer without waiting; passed on to session_reaper unless it is a read here
    reacts_to<barrier_result>,     // raft_peer: the answer to barrier_request
    reacts_to<renew_session>,      // http_gateway, for session_reaper: a client renews
    reacts_to<renew_request>,      // raft_peer, for session_reaper: behind the entries that are on their way
    reacts_to<lease_extended>,     // raft_peer: default reads need no barrier until then; session_reaper is told, too
    reacts_to<give_up_lease>,      // raft_peer: the lease is over from now on; session_reaper is told, too
    reacts_to<coordinates_known>,  // raft_peer, on every change: where nodes are
    reacts_to<cluster_view>,       // raft_peer, on every change; session_reaper is told, too
    reacts_to<queries_touched>,    // watch_registry: blocking queries to be looked at again
    reacts_to<checkpoint_written>, // checkpointer: the answer to write_checkpoint
    reacts_to<catalog_mended>,     // health_checks, on the leader: the answer to tables_restored
    reacts_to<machine_replaced>,   // checkpointer: the tables of a snapshot that another node sent
    reacts_to<tick_atom>,          // node once, then itself: checkpoints, tombstones, digests
    reacts_to<flush_atom>,         // itself: one barrier for all reads of this turn
    reacts_to<go_on_atom>,         // itself: tear down some more of what was removed
    reacts_to<stop_atom>           // node
>;

using watch_registry_actor = caf::typed_actor<
    reacts_to<park_query>,      // fsm: a blocking query with nothing to say yet
    reacts_to<unpark_query>,    // fsm: it was cancelled, or answered otherwise
    reacts_to<publish_effects>, // fsm: what changed, whom it may wake
    reacts_to<tick_atom>,       // itself, as long as there are any: queries whose time is up
    reacts_to<stop_atom>        // node
>;

using lock_delay_tracker_actor = caf::typed_actor<
    reacts_to<await_lock_delay>, // http_gateway: an acquire to be tried when the delay is over
    reacts_to<cancel_query>,     // http_gateway: the client went away
    reacts_to<end_wait>,         // http_gateway: give the refusal back; passed on to fsm if the acquire is on its way already
    reacts_to<publish_effects>,  // fsm: after a restore delays may be gone, try all again; something of claims is due at another time
    reacts_to<cluster_view>,     // fsm: whether this node leads and serves, in which term, and how it stamps entries
    reacts_to<tick_atom>,        // itself, when the next delay should be over
    reacts_to<stop_atom>         // node
>;

using session_reaper_actor = caf::typed_actor<
    reacts_to<publish_effects>, // fsm: sessions that came and went
    reacts_to<read_result>,     // fsm: an answer about one session, to be completed with its time left and passed on
    reacts_to<cluster_view>,    // fsm: whether this node leads and serves, and in which term
    reacts_to<write_results>,   // fsm: answers about claims that are held, to be completed with the time left to their sessions and passed on
    reacts_to<renew_session>,   // fsm, from http_gateway: a client renews; passed on to raft_peer unless this node leads
    reacts_to<renew_request>,   // fsm, from raft_peer: a client renews, here or through another node
    reacts_to<end_wait>,        // fsm, from http_gateway: passed on to raft_peer, after the renewal that it may be about
    reacts_to<lease_extended>,  // fsm, from raft_peer: renewals count until then
    reacts_to<give_up_lease>,   // fsm, from raft_peer: renewals are over; sent back to raft_peer, which hands over then
    reacts_to<tick_atom>,       // itself, as long as there are any: sessions whose time is up
    reacts_to<flush_atom>,      // itself: one with an exact TTL is due
    reacts_to<stop_atom>        // node
>;

using raft_peer_actor = caf::typed_actor<
    reacts_to<propose_write>,         // http_gateway, fsm (checked writes): bring it into the log, here or through the leader
    reacts_to<renew_session>,         // session_reaper: a client renews, and this node does not lead
    reacts_to<barrier_request>,       // fsm: which index must be applied for the reads that wait
    reacts_to<end_wait>,              // session_reaper, from http_gateway: refuse that call if it waits for a leader
    reacts_to<forwarded_results>,     // fsm: answers to the nodes that forwarded writes to this one
    reacts_to<log_written>,           // log_writer: the answer to write_log
    reacts_to<frames_received>,       // peer_link: what another node said
    reacts_to<peer_lost>,             // peer_link: its connection broke
    reacts_to<propose_internal>,      // session_reaper, lock_delay_tracker, fsm, health_checks: only if this term still lasts
    reacts_to<renew_answer>,          // session_reaper: the answer to renew_request
    reacts_to<checkpoint_written>,    // checkpointer: entries before it need not be kept
    reacts_to<peer_connected>,        // peer_link: frames reach it now
    reacts_to<dialled_now>,           // peer_link: the answer to dial_now
    reacts_to<spread_atom>,           // itself: tell followers of the commit
    reacts_to<snapshot_chunk_loaded>, // checkpointer: the answer to load_snapshot_chunk
    reacts_to<snapshot_chunk_stored>, // checkpointer: the answer to store_snapshot_chunk
    reacts_to<snapshot_in_force>,     // fsm: it goes on from the tables of the snapshot
    reacts_to<hand_over_leadership>,  // tests and the simulator: another server shall lead
    reacts_to<give_up_lease>,         // session_reaper: what this actor sent comes back, nobody counts on the lease any more
    reacts_to<change_members>,        // tests and the simulator: exactly these servers shall be the members
    reacts_to<status_request>,        // http_gateway: what the node knows of its cluster; what all members do with their keys
    reacts_to<autopilot_changed>,     // fsm: the settings by which servers are promoted and removed
    reacts_to<client_agent_answered>, // health_checks: the answer to client_agent_heard
    reacts_to<keyring_operated>,      // keyring_keeper: the answer to operate_keyring
    reacts_to<tick_atom>,             // node once, then itself: the clock of Raft
    reacts_to<flush_atom>,            // itself: carry out what this turn brought
    reacts_to<stop_atom>              // node
>;

using log_writer_actor = caf::typed_actor<
    reacts_to<write_log>,   // raft_peer: append and sync
    reacts_to<compact_log>, // raft_peer: a checkpoint holds what comes before
    reacts_to<stop_atom>    // node
>;

using checkpointer_actor = caf::typed_actor<
    reacts_to<write_checkpoint>,     // fsm: the rows that changed
    reacts_to<load_snapshot_chunk>,  // raft_peer: a follower needs the state
    reacts_to<store_snapshot_chunk>, // raft_peer: the leader sent a part of its state
    reacts_to<pack_archive>,         // http_gateway: the next piece, for a client
    reacts_to<unpack_archive>,       // http_gateway: the next piece, from a client
    reacts_to<close_archive>,        // http_gateway: that client is done, or gone
    reacts_to<free_memory>,          // fsm: what would take it long
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
    reacts_to<send_frames>, // raft_peer, health_checks (events): to connected nodes; to others they are dropped
    reacts_to<dial_peers>,  // raft_peer, when the members change: whom to be connected with
    reacts_to<announce>,    // raft_peer, when it changes: what a hello says
    reacts_to<dial_now>,    // raft_peer, for an operator: whether a server answers there
    reacts_to<tick_atom>,   // node once, then itself: connections to make again, dead ones to end
    reacts_to<somebody_comes_atom>, // itself, after nobody did for a while: somebody is at the door
    reacts_to<stop_atom>    // node
>;

// clang-format on

/// One node's monotonic clock, where it is not the actor system's (the simulator's clocks have rates and jump).
class node_clock {
public:
  virtual ~node_clock() = default;
  virtual monotonic_time now() const = 0;
  /// How long it takes in the actor system's time until `own` has passed here.
  virtual std::chrono::nanoseconds in_system_time(std::chrono::nanoseconds own) const = 0;
};

/// Handles of one node's actors. Filled by `node` before the first message is sent, emptied by it at the end (handles are strong).
struct wiring {
  raft_peer_actor raft_peer;
  fsm_actor fsm;
  watch_registry_actor watches;
  session_reaper_actor reaper;
  lock_delay_tracker_actor delays;
  log_writer_actor log;
  checkpointer_actor checkpoints;
  peer_link_actor links;
  health_checks_actor health;
  registration_keeper_actor keeper;         ///< none: nothing of the agent is kept
  keyring_keeper_actor keyring;             ///< none: this server has no keys, and takes none
  audit_log_actor audit;                    ///< none: nothing is audited
  std::vector<http_gateway_actor> gateways; ///< by the gateway number in request ids; `health` comes last

  std::shared_ptr<const node_clock> clock; ///< null: the actor system's
  std::function<void()> fail_stop;         ///< null: abort(); else it throws
};
using wiring_ptr = std::shared_ptr<wiring>;

/// The gateway that made a request id.
inline std::size_t gateway_of(request_id id) {
  return static_cast<std::size_t>(id.value >> 48);
}

} // namespace belay::actors
