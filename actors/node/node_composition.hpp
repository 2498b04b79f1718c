#pragma once
// One node, put together: which actors it has, and in which order they are spawned, begin and end. The program, the simulator and
// the tests differ in what is around a node (disks, sockets, clocks, threads), not in this.

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

/// Who a node is, what it has on its disks, how it is set, and what is around it.
struct node_plan {
  raft::member self;
  std::string datacenter;
  std::uint32_t bootstrap_expect = 0; ///< so many servers form a cluster; 0: waits for one that takes it in
  bool admit_newcomers = false;       ///< raft::formation_settings
  std::uint64_t cluster_id = 0;       ///< 0: belongs to none yet
  raft::promise promised;             ///< as it was on the disk
  state::string_map node_meta;        ///< of its row in the catalog, besides what every server's has

  node_disk disk;
  storage::generation_limits older_checkpoint;

  fsm_settings machine;
  raft_peer_settings peer; ///< its seed is the node's, other actors' are made from it; its hold is the agent's, too
  health_checks_settings agent; ///< what is said above of the node is filled in
  health_checks_start registered;
  std::shared_ptr<probe_runner> probes; ///< null: only checks that report by themselves (TTL) have results

  std::function<cluster_time()> wall_clock; ///< milliseconds since 1970
  std::shared_ptr<const node_clock> clock;  ///< null: the actor system's
  std::function<void()> fail_stop;          ///< null: abort(); else it throws

  // Null hosts and no threads for disks: all run on CAF's scheduler, and so on that of a test.
  actor_host* front = nullptr;     ///< of those who talk to clients, and of the tables
  actor_host* consensus = nullptr; ///< of raft_peer
  bool disks_have_threads = false; ///< log_writer and checkpointer block, each on a thread of its own

  // What is around a node is different everywhere, and so are the actors that deal with it.
  std::function<peer_link_actor(const wiring_ptr&)> spawn_links;
  std::function<http_gateway_actor(const wiring_ptr&)> spawn_gateway;
  std::size_t gateways = 1; ///< called so often; their numbers are 0, 1 and so on
  std::function<registration_keeper_actor(const wiring_ptr&)>
      spawn_keeper; ///< null: the agent's registrations are not kept
  std::function<keyring_keeper_actor(const wiring_ptr&)> spawn_keyring; ///< null: without keys
  std::function<audit_log_actor(const wiring_ptr&)> spawn_audit;        ///< null: nothing is audited
};

/// A node as the leader registers its members, with what only the node itself knows.
state::node_record catalog_row_of(const raft::member& node, const std::string& datacenter, state::string_map meta);

/// The actors of one running node.
class node_composition {
public:
  /// Spawns them. None does anything before begin().
  node_composition(caf::actor_system& system, node_plan plan, std::shared_ptr<vitals> numbers, metrics& counted);
  node_composition(const node_composition&) = delete;
  node_composition& operator=(const node_composition&) = delete;
  /// Lets go of the handles, which are strong. The actors were told to stop, or killed.
  ~node_composition() { *wires_ = {}; }

  /// Timers run from now on.
  void begin();
  /// The gateways end first, while those who answer are still there: `drained` waits for that. Then all others are told to end.
  void stop(const std::function<void()>& drained);

  const wiring& wires() const { return *wires_; }

  /// Those of clients: the last of all is the agent.
  template <class F>
  void for_each_gateway(F&& f) const {
    std::for_each(wires_->gateways.begin(), std::prev(wires_->gateways.end()), f);
  }

  /// Calls `f` with the handle of each actor, in the order in which they were spawned.
  template <class F>
  void for_each_actor(F&& f) const {
    const auto& w = *wires_;
    f(w.log);
    f(w.checkpoints);
    f(w.watches);
    f(w.reaper);
    f(w.delays);
    f(w.fsm);
    f(w.raft_peer);
    f(w.links);
    for_each_gateway(f);
    if (w.keeper)
      f(w.keeper);
    if (w.keyring)
      f(w.keyring);
    if (w.audit)
      f(w.audit);
    f(w.health);
  }

private:
  void spawn_agent(caf::actor_system& system, node_plan plan, std::shared_ptr<vitals> numbers);

  wiring_ptr wires_ = std::make_shared<wiring>();
};

} // namespace belay::actors
