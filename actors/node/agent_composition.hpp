#pragma once
// Assembles a client agent: its relay to the servers, its cache, its actors. The program and the
// simulator differ in the environment (sockets, clocks, disks). For servers: node_composition.

#include "actors/agent/health_checks.hpp"
#include "actors/relay/cached_answers.hpp"
#include "actors/relay/proxies.hpp"
#include "actors/relay/server_relay.hpp"

#include <caf/actor_system.hpp>

#include <functional>
#include <memory>
#include <optional>

namespace belay::actors {

/// Identity, settings and environment of a client agent.
struct agent_plan {
  raft::member self;
  std::string datacenter;
  state::string_map node_meta; ///< metadata of its row in the catalog, in addition to that of every agent

  relay_loop* loop = nullptr;   ///< outlives the agent
  server_relay_settings relay;  ///< cluster_answers is also handled here
  health_checks_settings agent; ///< members that are given above are filled in
  health_checks_start registered;
  std::shared_ptr<probe_runner> probes; ///< null: only checks that report themselves (TTL) have results
  std::function<agent_secrets()> secrets;
  std::shared_ptr<vitals> numbers;

  std::shared_ptr<const node_clock> clock; ///< null: the actor system's
  std::function<void()> fail_stop;         ///< null: abort(); otherwise it throws
  actor_host* http_host = nullptr;         ///< null: all run on CAF's scheduler, or that of a test

  /// @param relay is gateway_settings::relay
  std::function<http_gateway_actor(const node_actors_ptr&, request_relay& relay)> spawn_gateway;
  std::function<registration_keeper_actor(const node_actors_ptr&)> spawn_keeper;
  std::function<audit_log_actor(const node_actors_ptr&)> spawn_audit; ///< null: nothing is audited
};

class agent_composition {
public:
  /// Spawns its actors. None acts before begin().
  agent_composition(caf::actor_system& system, agent_plan plan);
  agent_composition(const agent_composition&) = delete;
  agent_composition& operator=(const agent_composition&) = delete;
  ~agent_composition() { release(); }

  /// Starts the timers.
  void begin();
  /// Notifies the servers that it leaves; `then` is called on the loop. @pre on the loop
  void leave(std::function<void()> then) { relay_->stop(true, std::move(then)); }
  /// Ends the gateway first, while the other actors still respond, and waits for that in `drained`.
  /// Then ends the rest.
  void stop(const std::function<void()>& drained);
  /// Releases the (strong) handles of its actors, which have been stopped or killed.
  void release() { *node_actors_ = {}; }
  /// Closes its connections. @pre on the loop, and its actors have ended
  void disconnect();

  const node_actors& handles() const { return *node_actors_; }

  /// Calls `f` with the handle of each actor, in the order of spawning.
  template <class F>
  void for_each_actor(F&& f) const {
    const auto& w = *node_actors_;
    f(w.fsm);
    f(w.raft_peer);
    if (w.audit_log)
      f(w.audit_log);
    f(w.gateways.front());
    f(w.registration_keeper);
    f(w.health_checks);
  }

private:
  agent_composition(raft::member self, relay_loop& loop, std::shared_ptr<vitals> numbers);
  void view_changed(bool answers);
  void tick_cache();

  raft::member self_;
  relay_loop& loop_;
  std::shared_ptr<vitals> numbers_;
  std::optional<server_relay> relay_;
  std::optional<cached_answers> cache_;
  relay_loop::timer cache_timer_;
  node_actors_ptr node_actors_ = std::make_shared<node_actors>();
  std::shared_ptr<const char> alive_ = std::make_shared<const char>(); ///< for callbacks that run later
};

} // namespace belay::actors
