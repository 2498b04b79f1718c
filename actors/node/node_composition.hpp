#pragma once
// Assembles a node: which actors it has, and in which order they are spawned, begin and end. The
// program, simulator, tests differ in the environment (disks, sockets, clocks, threads), not here.

#include "actors/agent/health_checks.hpp"
#include "actors/consensus/raft_peer.hpp"
#include "actors/node/disk/node_disk.hpp"
#include "actors/tables/fsm.hpp"
#include "storage/checkpoint/generation_schedule.hpp"

#include <caf/actor_system.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <string>

namespace belay::actors {

/// Identity, disk contents, settings and environment of a node.
struct node_plan {
  raft::member self;
  std::string datacenter;
  std::uint32_t bootstrap_expect = 0; ///< number of servers that form a cluster; 0: waits to be added to one
  bool admit_newcomers = false;       ///< raft::formation_settings
  std::uint64_t cluster_id = 0;       ///< 0: belongs to none yet
  raft::promise promised;             ///< as it was on the disk
  state::string_map node_meta;        ///< metadata of its row in the catalog, in addition to that of every server

  node_disk disk;
  storage::generation_limits older_checkpoint;

  fsm_settings machine;
  raft_peer_settings peer; ///< its seed is the node's, and the origin of other actors'; its hold is the agent's, too
  health_checks_settings agent; ///< members that are given above are filled in
  health_checks_start registered;
  std::shared_ptr<probe_runner> probes; ///< null: only checks that report themselves (TTL) have results

  std::function<cluster_time()> wall_clock; ///< milliseconds since 1970
  std::shared_ptr<const node_clock> clock;  ///< null: the actor system's
  std::function<void()> fail_stop;          ///< null: abort(); otherwise it throws

  // With null hosts and no disk threads all run on CAF's scheduler, or that of a test.
  actor_host* http_host = nullptr; ///< host of the HTTP actors and the tables
  actor_host* consensus = nullptr; ///< host of raft_peer
  bool disks_have_threads = false; ///< log_writer and checkpointer block, each on its own thread

  // The environments differ, and so do the actors for them.
  std::function<peer_link_actor(const node_actors_ptr&)> spawn_links;
  std::function<http_gateway_actor(const node_actors_ptr&)> spawn_gateway;
  std::size_t gateways = 1; ///< number of calls; their numbers are 0, 1 and so on
  /// Null: the agent's registrations are not stored.
  std::function<registration_keeper_actor(const node_actors_ptr&)> spawn_keeper;
  std::function<keyring_keeper_actor(const node_actors_ptr&)> spawn_keyring; ///< null: without keys
  std::function<audit_log_actor(const node_actors_ptr&)> spawn_audit;        ///< null: nothing is audited
};

/// The row by which the leader registers a member, with facts that only the node itself has.
state::node_record catalog_row_of(const raft::member& node, const std::string& datacenter, state::string_map meta);

/// Passes definitions of a reloaded configuration to the agent, and blocks until they are applied.
status apply_definitions(const node_actors& node_actors, agent::configured_definitions now);

/// The actors of one running node.
class node_composition {
public:
  /// Spawns them. None acts before begin().
  node_composition(caf::actor_system& system, node_plan plan, std::shared_ptr<vitals> numbers, metrics& counted);
  node_composition(const node_composition&) = delete;
  node_composition& operator=(const node_composition&) = delete;
  /// Releases the handles, which are strong. The actors have been stopped or killed.
  ~node_composition() { *node_actors_ = {}; }

  /// Starts the timers.
  void begin();
  /// Ends gateways first, while others still respond: `drained` waits for them. Then ends the rest.
  void stop(const std::function<void()>& drained);

  const node_actors& handles() const { return *node_actors_; }

  /// Clients' gateways: the last of all gateways is the agent.
  template <class F>
  void for_each_gateway(F&& f) const {
    std::for_each(node_actors_->gateways.begin(), std::prev(node_actors_->gateways.end()), f);
  }

  /// Calls `f` with the handle of each actor, in the order of spawning.
  template <class F>
  void for_each_actor(F&& f) const {
    const auto& w = *node_actors_;
    f(w.log_writer);
    f(w.checkpointer);
    f(w.watch_registry);
    f(w.session_reaper);
    f(w.lock_delay_tracker);
    f(w.fsm);
    f(w.raft_peer);
    f(w.peer_link);
    for_each_gateway(f);
    if (w.registration_keeper)
      f(w.registration_keeper);
    if (w.keyring_keeper)
      f(w.keyring_keeper);
    if (w.audit_log)
      f(w.audit_log);
    f(w.health_checks);
  }

private:
  node_composition() = default;
  void spawn_agent(caf::actor_system& system, node_plan plan, std::shared_ptr<vitals> numbers);

  node_actors_ptr node_actors_ = std::make_shared<node_actors>();
};

} // namespace belay::actors
