#pragma once
// The thread on which a simulated client agent talks to servers. Its timers and sockets are mail of
// an actor of that node, so they wait while the node is paused, and are lost with it.

#include "actors/relay/relay_loop.hpp"
#include "sim/environment/agent_connections.hpp"
#include "sim/environment/simulated_clock.hpp"

#include <caf/actor.hpp>
#include <caf/execution_unit.hpp>

#include <functional>
#include <memory>

namespace belay::sim {

class simulated_relay_loop final : public actors::relay_loop {
public:
  /// @param connections outlives it
  simulated_relay_loop(schedule& time, agent_connections& connections, std::shared_ptr<const simulated_clock> clock,
                       std::size_t agent);
  ~simulated_relay_loop() override;
  simulated_relay_loop(const simulated_relay_loop&) = delete;
  simulated_relay_loop& operator=(const simulated_relay_loop&) = delete;

  /// The actor whose mail is what is called on the loop.
  const caf::actor& handle() const { return actor_; }
  /// Called before anything else on the loop, with the context on whose behalf others may send.
  std::function<void(caf::execution_unit*)> begins;

  actors::monotonic_time now() override { return clock_->awake(); }
  std::unique_ptr<actors::relay_socket> open_socket() override;
  timer after(std::chrono::milliseconds d, std::function<void()> what) override;
  void post(std::function<void()> what) override;

private:
  class socket;
  struct queue;

  schedule& time_;
  agent_connections& connections_;
  std::shared_ptr<const simulated_clock> clock_;
  std::size_t agent_;
  std::shared_ptr<queue> queue_;
  caf::actor actor_;
};

} // namespace belay::sim
