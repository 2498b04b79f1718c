#include "actors/node/agent_composition.hpp"

#include "actors/node/node_composition.hpp"
#include "protocol/base/mutants.hpp"

#include <caf/send.hpp>

namespace belay::actors {

namespace {

constexpr std::chrono::milliseconds cache_tick{100};

} // namespace

agent_composition::agent_composition(raft::member self, relay_loop& loop, std::shared_ptr<vitals> numbers)
    : self_(std::move(self)), loop_(loop), numbers_(std::move(numbers)) {}

agent_composition::agent_composition(caf::actor_system& system, agent_plan plan)
    : agent_composition(plan.self, *plan.loop, std::move(plan.numbers)) {
  // From here on the destructor releases what was spawned, if an actor cannot be made.
  numbers_->has_raft = false;
  numbers_->standing = cluster_standing::cut_off;
  plan.relay.hello.self = self_;
  plan.relay.hello.datacenter = plan.datacenter;
  plan.relay.hello.client_agent = true;
  plan.relay.cluster_answers = [this](bool answers) { view_changed(answers); };
  relay_.emplace(loop_, std::move(plan.relay));
  cached_answers_settings c;
  // Answers also age while the machine is suspended.
  c.now = [loop = &loop_, clock = plan.clock] {
    return clock == nullptr || MUTANT(cache_sleeps_with_machine) ? loop->now() : clock->now();
  };
  cache_.emplace(*relay_, std::move(c));

  auto& w = *node_actors_;
  w.clock = std::move(plan.clock);
  w.fail_stop = std::move(plan.fail_stop);
  w.fsm = system.spawn<remote_tables>(plan.http_host, node_actors_, *relay_, std::move(plan.secrets));
  w.raft_peer = system.spawn<remote_consensus>(
      plan.http_host, node_actors_, self_, [this] { return relay_->cluster_answers(); },
      [this](const std::string& address, auto then) { relay_->join(address, std::move(then)); });
  if (plan.spawn_audit)
    w.audit_log = plan.spawn_audit(node_actors_);
  w.gateways.push_back(plan.spawn_gateway(node_actors_, *cache_));
  w.registration_keeper = plan.spawn_keeper(node_actors_);
  auto& h = plan.agent;
  h.number = static_cast<std::uint16_t>(w.gateways.size());
  h.numbers = numbers_;
  h.agent.registry.node = catalog_row_of(self_, plan.datacenter, plan.node_meta);
  w.health_checks = system.spawn<health_checks>(plan.http_host, node_actors_, std::move(h), std::move(plan.registered),
                                                std::move(plan.probes));
  w.gateways.push_back(w.health_checks);
}

void agent_composition::view_changed(bool answers) {
  numbers_->standing = answers ? cluster_standing::relays : cluster_standing::cut_off;
  const auto view = remote_consensus::view_of(self_, answers);
  for (const auto& each : node_actors_->gateways)
    caf::anon_send(each, view);
}

void agent_composition::tick_cache() {
  cache_->tick();
  cache_timer_ = loop_.after(cache_tick, [this] { tick_cache(); });
}

void agent_composition::begin() {
  loop_.post([this, alive = std::weak_ptr<const char>(alive_)] {
    if (alive.expired() || !relay_)
      return;
    relay_->start();
    tick_cache();
  });
  caf::anon_send(node_actors_->health_checks, tick_atom::value);
}

void agent_composition::stop(const std::function<void()>& drained) {
  const auto end = [](const auto& actor) { caf::anon_send(actor, stop_atom::value); };
  end(node_actors_->gateways.front());
  drained();
  if (node_actors_->audit_log)
    end(node_actors_->audit_log);
  end(node_actors_->health_checks); // which ends the registration_keeper
  end(node_actors_->raft_peer);
  end(node_actors_->fsm);
}

void agent_composition::disconnect() {
  cache_timer_.reset();
  cache_.reset();
  relay_.reset();
}

} // namespace belay::actors
