// The part of `cluster` that is about client agents.

#include "actors/relay/node_proof.hpp"
#include "protocol/base/host_port.hpp"
#include "sim/environment/cluster.hpp"
#include "sim/environment/node_failure.hpp"
#include "sim/environment/simulated_probes.hpp"
#include "sim/environment/stub_of.hpp"

#include <caf/send.hpp>

namespace belay::sim {

namespace {

caf::local_actor* local(const auto& handle) {
  return dynamic_cast<caf::local_actor*>(caf::actor_cast<caf::abstract_actor*>(handle));
}

} // namespace

void cluster::prepare_agents() {
  for (std::size_t i = size(); i < nodes_.size(); ++i) {
    nodes_[i].self.name = "agent-" + std::to_string(i - size());
    nodes_[i].self.address = "10.0.1." + std::to_string(i - size() + 1) + ":8300";
  }
  agent_connections_.latency = swarm_.network.latency;
  agent_connections_.server_at = [this](const std::string& address) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < size(); ++i)
      if (nodes_[i].self.address == address)
        return i;
    return std::nullopt;
  };
  agent_connections_.listens = [this](std::size_t server) { return nodes_[server].gateway != nullptr; };
  agent_connections_.paused = [this](std::size_t server) { return nodes_[server].state == node_state::paused; };
  agent_connections_.identified = [this](std::size_t server, connection_id c, const wire::hello& hello) {
    const auto& who = hello.self;
    if (nodes_[server].gateway != nullptr)
      nodes_[server].gateway->identify(c, {who.name, who.uuid, split_host_port(who.address).host});
  };
  agent_connections_.received = [this](std::size_t server, connection_id c, std::string bytes) {
    if (nodes_[server].gateway != nullptr)
      nodes_[server].gateway->send(c, std::move(bytes));
  };
  agent_connections_.output_ended = [this](std::size_t server, connection_id c) {
    if (nodes_[server].gateway != nullptr)
      nodes_[server].gateway->end_output(c);
  };
  agent_connections_.hung_up = [this](std::size_t server, connection_id c) {
    if (nodes_[server].gateway != nullptr)
      nodes_[server].gateway->hang_up(c);
  };
}

status cluster::start_agent(std::size_t index) {
  auto& n = nodes_[index];
  INVARIANT(n.state == node_state::down);
  const auto who = actors::open_data_directory(simulated_disk::data_directory, n.self.uuid, datacenter, n.disk->files(),
                                               [&n] { return n.self.id.value; });
  if (!who)
    return who.reason();
  INVARIANT(who->uuid == n.self.uuid);
  if (doors_)
    if (auto proved = doors_->start(index, n.disk->files(), n.clock); !proved)
      return proved.reason();
  if (trace_.wanted())
    trace_.line(time_.now(), index, "starts as client agent " + n.self.name + " " + n.self.uuid);
  trace_.add(0xa9e7 + index);
  ++n.life;
  n.view = {};
  n.failing = false;
  n.state = node_state::running;
  n.numbers = std::make_shared<actors::vitals>();
  n.counted = std::make_shared<actors::metrics>();
  spawn_agent(index);
  return done{};
}

/// Starts a client agent of the simulation: the actors of a real one, with a simulated event loop
/// in place of its sockets.
void cluster::spawn_agent(std::size_t index) {
  using namespace actors;
  auto& n = nodes_[index];
  n.loop = std::make_unique<simulated_relay_loop>(time_, agent_connections_, n.clock, index);
  const auto seed = tape_.seed() * 1000 + index * 100 + static_cast<std::uint64_t>(n.life);
  agent_plan plan;
  plan.self = n.self;
  plan.datacenter = datacenter;
  plan.loop = n.loop.get();
  for (std::size_t i = 0; i < swarm_.nodes; ++i) // an operator would write the same: retry_join
    plan.relay.servers.push_back(nodes_[i].self.address);
  plan.relay.queue_timeout = swarm_.peer.queue_timeout;
  plan.relay.seed = seed;
  plan.relay.secret_of_node = "secret-of-" + n.self.uuid; // a secret belongs to the data directory, like the ID
  plan.node_meta = actors::with_proof({}, plan.relay.secret_of_node);
  if (doors_)
    plan.relay.credentials = doors_->credentials_of(index);
  plan.agent.queue_timeout = swarm_.peer.queue_timeout;
  plan.agent.compare_interval = compare_interval;
  plan.agent.wall_clock = [clock = n.clock] { return clock->wall(); };
  plan.agent.agent.registry.seed = seed + 3;
  plan.registered.kept.assign(n.registrations.begin(), n.registrations.end());
  plan.probes = std::make_shared<simulated_probes>(
      time_, tape_, stream{stream_kind::client, static_cast<std::uint16_t>(first_probe_stream + index)},
      [this](const std::string& target) { return !well || well(target); });
  plan.secrets = [with_acls = swarm_.acls != acl_mode::off] {
    return with_acls ? agent_secrets{master_token, master_token} : agent_secrets{};
  };
  plan.numbers = n.numbers;
  plan.clock = n.clock;
  plan.fail_stop = [this, index] {
    nodes_[index].failing = true;
    throw node_failure{};
  };
  plan.spawn_gateway = [this, index](const node_actors_ptr& node_actors, request_relay& relay) {
    auto g = gateway_settings_of(index);
    g.relay = &relay;
    g.passed_on = swarm_.passed_on;
    g.routes.client_agent = true;
    g.facts.server = false;
    nodes_[index].gateway = open_gateway(index, node_actors, std::move(g));
    return nodes_[index].gateway->handle();
  };
  plan.spawn_keeper = [this, index](const node_actors_ptr& node_actors) { return spawn_keeper(index, node_actors); };
  n.requests = request_ids(0, seed + 7);
  n.agent = std::make_unique<agent_composition>(time_.system(), std::move(plan));
  const auto& w = n.agent->handles();
  const auto enlist = [&](actor_kind kind, const auto& handle) {
    time_.enlist(index, kind, caf::actor_cast<caf::actor>(handle));
  };
  enlist(actor_kind::fsm, w.fsm);
  enlist(actor_kind::raft_peer, w.raft_peer);
  enlist(actor_kind::gateway, w.gateways.front());
  enlist(actor_kind::keeper, w.registration_keeper);
  enlist(actor_kind::agent, w.health_checks);
  time_.enlist(index, actor_kind::sockets, n.gateway->sockets());
  time_.enlist(index, actor_kind::sockets, n.loop->handle());
  n.loop->begins = [this, index, &n, tables = local(w.fsm), consensus = local(w.raft_peer)](caf::execution_unit* unit) {
    if (doors_)
      doors_->before_dialling(index);
    n.gateway->enter(unit);
    tables->context(unit);
    consensus->context(unit);
  };
  n.agent->begin();
}

/// Everything is kept by the time the agent is notified.
actors::registration_keeper_actor cluster::spawn_keeper(std::size_t index, const actors::node_actors_ptr& node_actors) {
  return stub_of<actors::registration_keeper_actor>(
      time_.system(), [this, index, node_actors](const actors::keep_registrations& k) {
        auto& kept = nodes_[index].registrations;
        for (const auto& [file, bytes] : k.files)
          if (bytes.empty())
            kept.erase(file);
          else
            kept.insert_or_assign(file, bytes);
        if (node_actors->health_checks)
          caf::anon_send(node_actors->health_checks, actors::registrations_kept{k.token, {}});
      });
}

/// @pre its actors were killed, and its gateway is gone
void cluster::end_agent(node& n) {
  if (n.agent == nullptr)
    return;
  n.agent->release();
  n.agent->disconnect();
  n.agent.reset();
  n.loop.reset();
}

} // namespace belay::sim
