#pragma once
// One client agent, put together: its way to the servers, its cache, and its actors. The program and the simulator differ in what is
// around it (sockets, clocks, disks), not in this. A server's is node_composition.

#include "actors/agent/health_checks.hpp"
#include "actors/relay/cached_answers.hpp"
#include "actors/relay/server_relay.hpp"
#include "actors/relay/stand_ins.hpp"

#include <caf/actor_system.hpp>

#include <functional>
#include <memory>
#include <optional>

namespace belay::actors {

/// Who a client agent is, how it is set, and what is around it.
struct agent_plan {
  raft::member self;
  std::string datacenter;
  state::string_map node_meta; ///< of its row in the catalog, besides what every agent's has

  relay_loop* loop = nullptr;   ///< outlives it
  server_relay_settings relay;  ///< what is said of the cluster is heard here
  health_checks_settings agent; ///< what is said above of the agent is filled in
  health_checks_start registered;
  std::shared_ptr<probe_runner> probes; ///< null: only checks that report by themselves (TTL) have results
  std::function<agent_secrets()> secrets;
  std::shared_ptr<vitals> numbers;

  std::shared_ptr<const node_clock> clock; ///< null: the actor system's
  std::function<void()> fail_stop;         ///< null: abort(); else it throws
  actor_host* front = nullptr;             ///< null: all run on CAF's scheduler, and so on that of a test

  /// @param relay is gateway_settings::relay
  std::function<http_gateway_actor(const wiring_ptr&, request_relay& relay)> spawn_gateway;
  std::function<registration_keeper_actor(const wiring_ptr&)> spawn_keeper;
  std::function<audit_log_actor(const wiring_ptr&)> spawn_audit; ///< null: nothing is audited
};

class agent_composition {
public:
  /// Spawns its actors. None does anything before begin().
  agent_composition(caf::actor_system& system, agent_plan plan);
  agent_composition(const agent_composition&) = delete;
  agent_composition& operator=(const agent_composition&) = delete;
  ~agent_composition() { release(); }

  /// Timers run from now on.
  void begin();
  /// The servers are told that it leaves; `then` is called on the loop. @pre on the loop
  void leave(std::function<void()> then) { relay_->stop(true, std::move(then)); }
  /// The gateway ends first, while those who answer are still there: `drained` waits for that. Then all others are told to end.
  void stop(const std::function<void()>& drained);
  /// Lets go of the handles of its actors, which are strong. They were told to stop, or killed.
  void release() { *wires_ = {}; }
  /// Closes its connections. @pre on the loop, and its actors have ended
  void disconnect();

  const wiring& wires() const { return *wires_; }

  /// Calls `f` with the handle of each actor, in the order in which they were spawned.
  template <class F>
  void for_each_actor(F&& f) const {
    const auto& w = *wires_;
    f(w.fsm);
    f(w.raft_peer);
    if (w.audit)
      f(w.audit);
    f(w.gateways.front());
    f(w.keeper);
    f(w.health);
  }

private:
  void view_changed(bool answers);
  void tick_cache();

  raft::member self_;
  relay_loop& loop_;
  std::shared_ptr<vitals> numbers_;
  std::optional<server_relay> relay_;
  std::optional<cached_answers> cache_;
  relay_loop::timer cache_timer_;
  wiring_ptr wires_ = std::make_shared<wiring>();
  std::shared_ptr<const char> alive_ = std::make_shared<const char>(); ///< for what is called later
};

} // namespace belay::actors
