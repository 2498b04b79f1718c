#include "actors/node/node_composition.hpp"

#include "actors/consensus/log_writer.hpp"
#include "actors/tables/checkpointer.hpp"
#include "actors/tables/lock_delay_tracker.hpp"
#include "actors/tables/session_reaper.hpp"
#include "actors/tables/watch_registry.hpp"
#include "protocol/agent/member_catalog.hpp"

#include <caf/send.hpp>

#include <future>

namespace belay::actors {

namespace {

/// Spawns an actor that blocks on its own thread, or as usual, where a test decides the order.
template <class Actor, class... Args>
auto spawn_for_disk(caf::actor_system& system, bool own_thread, Args&&... args) {
  return own_thread ? system.spawn<Actor, caf::detached>(std::forward<Args>(args)...)
                    : system.spawn<Actor>(std::forward<Args>(args)...);
}

} // namespace

state::node_record catalog_row_of(const raft::member& node, const std::string& datacenter, state::string_map meta) {
  auto row = agent::node_of(agent::member_of(node.uuid, node.name, node.address, std::nullopt), datacenter);
  meta.merge(*row.meta);
  row.meta = std::move(meta);
  return row;
}

status apply_definitions(const node_actors& node_actors, agent::configured_definitions now) {
  constexpr std::chrono::seconds limit{30}; // the agent's thread never blocks; only a paused machine takes longer
  auto done = std::make_shared<std::promise<status>>();
  auto answer = done->get_future();
  caf::anon_send(node_actors.health_checks,
                 change_definitions{std::move(now), [done](status s) { done->set_value(std::move(s)); }});
  if (answer.wait_for(limit) != std::future_status::ready)
    return failure{"the agent did not apply the definitions within 30 s; it may do so later"};
  return answer.get();
}

node_composition::node_composition(caf::actor_system& system, node_plan plan, std::shared_ptr<vitals> numbers,
                                   metrics& counted)
    : node_composition() {
  // From here on the destructor releases what was spawned, if an actor cannot be made.
  auto& w = *node_actors_;
  w.clock = plan.clock;
  w.fail_stop = plan.fail_stop;
  plan.machine.queue_timeout = plan.peer.queue_timeout;
  plan.peer.wall_clock = plan.wall_clock;
  plan.machine.wall_clock = plan.wall_clock;
  plan.peer.level_in_tables = level_in_tables(*plan.disk.machine);
  const auto applied = plan.disk.restored.snapshot;
  std::vector<state::session_ptr> sessions;
  plan.disk.machine->for_each_session([&](const state::session_ptr& s) { sessions.push_back(s); });

  w.log_writer = spawn_for_disk<log_writer>(system, plan.disks_have_threads, node_actors_, plan.disk.log, counted);
  const checkpointer_settings found{applied.index, plan.older_checkpoint, plan.disk.log_begins, plan.disk.log_bytes,
                                    plan.disks_have_threads};
  w.checkpointer = spawn_for_disk<checkpointer>(system, plan.disks_have_threads, node_actors_, plan.disk.checkpoints,
                                                found, numbers, counted);
  w.watch_registry = system.spawn<watch_registry>(plan.http_host, node_actors_, counted);
  w.session_reaper = system.spawn<session_reaper>(plan.http_host, node_actors_, std::move(sessions),
                                                  plan.disk.machine->restored_at(), counted);
  w.lock_delay_tracker = system.spawn<lock_delay_tracker>(plan.http_host, node_actors_);
  w.fsm = system.spawn<fsm>(plan.http_host, node_actors_, std::move(plan.machine), std::move(plan.disk.machine),
                            applied, numbers, counted);
  raft::formation_settings founding;
  founding.expect = plan.bootstrap_expect;
  founding.admit_newcomers = plan.admit_newcomers;
  founding.replica = plan.peer.replica;
  // 5 s with raft_multiplier 1, the time after which a silent member's health turns critical.
  founding.lost_ticks = 20 * plan.peer.limits.election_ticks;
  raft::formation formation(plan.self, plan.datacenter, founding, plan.cluster_id, std::move(plan.promised));
  w.raft_peer = system.spawn<raft_peer>(plan.consensus, node_actors_, plan.peer, plan.self, std::move(formation),
                                        std::move(plan.disk.restored), numbers, counted);
  w.peer_link = plan.spawn_links(node_actors_);
  if (plan.spawn_keyring)
    w.keyring_keeper = plan.spawn_keyring(node_actors_);
  if (plan.spawn_audit)
    w.audit_log = plan.spawn_audit(node_actors_);
  for (std::size_t i = 0; i < plan.gateways; ++i)
    w.gateways.push_back(plan.spawn_gateway(node_actors_));
  spawn_agent(system, std::move(plan), std::move(numbers));
}

void node_composition::spawn_agent(caf::actor_system& system, node_plan plan, std::shared_ptr<vitals> numbers) {
  auto& w = *node_actors_;
  auto h = std::move(plan.agent);
  h.number = static_cast<std::uint16_t>(w.gateways.size());
  h.queue_timeout = plan.peer.queue_timeout;
  h.numbers = std::move(numbers);
  h.wall_clock = plan.wall_clock;
  h.agent.registry.seed = plan.peer.seed + 3;
  h.agent.registry.node = catalog_row_of(plan.self, plan.datacenter, plan.node_meta);
  if (plan.spawn_keeper)
    w.registration_keeper = plan.spawn_keeper(node_actors_);
  w.health_checks = system.spawn<health_checks>(plan.http_host, node_actors_, std::move(h), std::move(plan.registered),
                                                std::move(plan.probes));
  w.gateways.push_back(w.health_checks);
}

void node_composition::begin() {
  const auto tick = [](const auto& actor) { caf::anon_send(actor, tick_atom::value); };
  tick(node_actors_->peer_link);
  tick(node_actors_->fsm);
  tick(node_actors_->raft_peer);
  tick(node_actors_->health_checks);
}

void node_composition::stop(const std::function<void()>& drained) {
  const auto end = [](const auto& actor) { caf::anon_send(actor, stop_atom::value); };
  for_each_gateway(end);
  drained();
  if (node_actors_->audit_log) // it has the gateway's last lines
    end(node_actors_->audit_log);
  // Ends them in the order in which data passes them; each still handles its mailbox.
  end(node_actors_->health_checks); // which ends the registration_keeper
  end(node_actors_->raft_peer);
  end(node_actors_->peer_link);
  if (node_actors_->keyring_keeper)
    end(node_actors_->keyring_keeper);
  end(node_actors_->fsm);
  end(node_actors_->watch_registry);
  end(node_actors_->session_reaper);
  end(node_actors_->lock_delay_tracker);
  end(node_actors_->log_writer);
  end(node_actors_->checkpointer);
}

} // namespace belay::actors
