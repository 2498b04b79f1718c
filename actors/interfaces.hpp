#pragma once
// What each actor understands. Everything is one-way: answers are messages of their own, matched by id (caf.md gotchas 13, 14).

#include "actors/messages.hpp"

#include <caf/typed_actor.hpp>

namespace belay::actors {

/// Periodic work; each actor re-arms its own.
using tick_atom = caf::atom_constant<caf::atom("tick")>;
/// Sent by an actor to itself behind what is queued already: do the batch now.
using flush_atom = caf::atom_constant<caf::atom("flush")>;
/// The leader tells followers of a commit that no append has carried to them.
using spread_atom = caf::atom_constant<caf::atom("spread")>;
/// Ordered shutdown: finish what is in flight, then quit.
using stop_atom = caf::atom_constant<caf::atom("stop")>;

using caf::reacts_to;

using http_gateway_actor =
    caf::typed_actor<reacts_to<write_results>, reacts_to<renew_result>, reacts_to<read_result>,
                     reacts_to<status_result>, reacts_to<archive_packed>, reacts_to<archive_unpacked>,
                     reacts_to<cluster_view>, reacts_to<agent_answer>, reacts_to<tick_atom>, reacts_to<flush_atom>,
                     reacts_to<stop_atom>>;

/// Reads and writes the catalog like a gateway, and so has a number like one.
using health_checks_actor =
    http_gateway_actor::extend<reacts_to<agent_call>, reacts_to<cancel_query>, reacts_to<event_heard>,
                               reacts_to<members_heard>, reacts_to<probe_finished>, reacts_to<registrations_kept>>;

using registration_keeper_actor = caf::typed_actor<reacts_to<keep_registrations>, reacts_to<stop_atom>>;

using fsm_actor =
    caf::typed_actor<reacts_to<committed_entries>, reacts_to<check_write>, reacts_to<read_query>,
                     reacts_to<cancel_query>, reacts_to<barrier_result>, reacts_to<renew_request>,
                     reacts_to<lease_extended>, reacts_to<give_up_lease>, reacts_to<cluster_view>,
                     reacts_to<queries_touched>, reacts_to<checkpoint_written>, reacts_to<machine_replaced>,
                     reacts_to<tick_atom>, reacts_to<flush_atom>, reacts_to<stop_atom>>;

using watch_registry_actor = caf::typed_actor<reacts_to<park_query>, reacts_to<unpark_query>,
                                              reacts_to<publish_effects>, reacts_to<tick_atom>, reacts_to<stop_atom>>;

using lock_delay_tracker_actor =
    caf::typed_actor<reacts_to<await_lock_delay>, reacts_to<cancel_query>, reacts_to<publish_effects>,
                     reacts_to<tick_atom>, reacts_to<stop_atom>>;

using session_reaper_actor =
    caf::typed_actor<reacts_to<publish_effects>, reacts_to<read_result>, reacts_to<cluster_view>,
                     reacts_to<renew_request>, reacts_to<lease_extended>, reacts_to<give_up_lease>,
                     reacts_to<tick_atom>, reacts_to<stop_atom>>;

using raft_peer_actor = caf::typed_actor<
    reacts_to<propose_write>, reacts_to<renew_session>, reacts_to<barrier_request>, reacts_to<forwarded_results>,
    reacts_to<log_written>, reacts_to<frames_received>, reacts_to<peer_lost>, reacts_to<propose_internal>,
    reacts_to<renew_answer>, reacts_to<checkpoint_written>, reacts_to<peer_connected>, reacts_to<spread_atom>,
    reacts_to<snapshot_chunk_loaded>, reacts_to<snapshot_chunk_stored>, reacts_to<snapshot_in_force>,
    reacts_to<members_missing>, reacts_to<hand_over_leadership>, reacts_to<give_up_lease>, reacts_to<change_members>,
    reacts_to<status_request>, reacts_to<tick_atom>, reacts_to<flush_atom>, reacts_to<stop_atom>>;

using log_writer_actor = caf::typed_actor<reacts_to<write_log>, reacts_to<compact_log>, reacts_to<stop_atom>>;

using checkpointer_actor = caf::typed_actor<reacts_to<write_checkpoint>, reacts_to<load_snapshot_chunk>,
                                            reacts_to<store_snapshot_chunk>, reacts_to<pack_archive>,
                                            reacts_to<unpack_archive>, reacts_to<close_archive>, reacts_to<stop_atom>>;

using peer_link_actor = caf::typed_actor<reacts_to<send_frames>, reacts_to<dial_peers>, reacts_to<announce>,
                                         reacts_to<tick_atom>, reacts_to<stop_atom>>;

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
  health_checks_actor health;               ///< none: this node has no agent (simulation)
  registration_keeper_actor keeper;         ///< none: nothing of the agent is kept
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
