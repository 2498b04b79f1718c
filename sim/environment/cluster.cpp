#include "sim/environment/cluster.hpp"

#include "actors/node/keyring_keeper.hpp"
#include "protocol/base/overloaded.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/base/uuid.hpp"
#include "sim/environment/node_failure.hpp"
#include "sim/environment/simulated_probes.hpp"
#include "sim/environment/stub_of.hpp"

#include <caf/send.hpp>

#include <algorithm>

namespace belay::sim {

namespace {

// Sessions of the simulated clients are short, so that many of them end within a run.
constexpr std::chrono::seconds session_ttl_min{1};
constexpr std::chrono::seconds token_ttl_min{1};
// The share of keyring changes that the power fails in.
constexpr std::uint32_t dark_per_million = 60'000;
constexpr stream of_keyrings{stream_kind::disk, 512};
// A folder, a new file, its bytes, their sync, its name and that name's sync.
constexpr std::uint64_t calls_of_a_keyring = 6;

stream disk_stream(std::size_t node) {
  return {stream_kind::disk, static_cast<std::uint16_t>(node)};
}

constexpr overloaded kind_of{
    [](const actors::log_writer_actor&) { return actor_kind::log; },
    [](const actors::checkpointer_actor&) { return actor_kind::checkpoints; },
    [](const actors::watch_registry_actor&) { return actor_kind::watches; },
    [](const actors::session_reaper_actor&) { return actor_kind::reaper; },
    [](const actors::lock_delay_tracker_actor&) { return actor_kind::delays; },
    [](const actors::fsm_actor&) { return actor_kind::fsm; },
    [](const actors::raft_peer_actor&) { return actor_kind::raft_peer; },
    [](const actors::peer_link_actor&) { return actor_kind::links; },
    [](const actors::http_gateway_actor&) { return actor_kind::gateway; },
    [](const actors::registration_keeper_actor&) { return actor_kind::keeper; },
    [](const actors::keyring_keeper_actor&) { return actor_kind::keeper; },
    [](const actors::health_checks_actor&) { return actor_kind::agent; },
    [](const actors::audit_log_actor&) { return actor_kind::keeper; }, // there is none: plan.spawn_audit is null
};

} // namespace

cluster::cluster(schedule& time, tape& choices, event_trace& trace, simulated_network& net, const swarm& s)
    : time_(time), tape_(choices), trace_(trace), net_(net), agent_connections_(time, trace), swarm_(s),
      nodes_(s.nodes + s.spares + s.replicas + s.client_agents) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    auto& n = nodes_[i];
    n.self.name = "node-" + std::to_string(i);
    n.self.address = "10.0.0." + std::to_string(i + 1) + ":8300";
    n.clock = std::make_shared<simulated_clock>(time_);
    n.disk = std::make_unique<simulated_disk>(swarm_.segment_bytes);
    born(n);
  }
  prepare_agents();
  if (swarm_.credentials == credential_plan::none)
    return;
  doors_ = std::make_unique<peer_doors>(time_, trace_, node_count());
  agent_connections_.demands = [this](std::size_t server) { return doors_->demanded_by(server); };
  agent_connections_.admitted = [this](const agent_connections::admission& a) { doors_->check(a); };
  net_.let_in = [this](std::size_t dialler, std::size_t accepter, const wire::hello& hello) {
    const auto decision = doors_->let_in(dialler, accepter, hello);
    return simulated_network::admission{decision.in, decision.encrypted};
  };
}

cluster::~cluster() {
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].state != node_state::down)
      stop(i, true);
}

void cluster::born(node& n) {
  n.self.id = node_id{++servers_made_};
  n.self.uuid = uuid_of(0, n.self.id.value);
  n.cluster_id = 0;
}

// ---- starting

status cluster::start(std::size_t index) {
  if (is_agent(index))
    return start_agent(index);
  auto& n = nodes_[index];
  INVARIANT(n.state == node_state::down);
  actors::identity who;
  auto found = open_data(index, who);
  if (doors_ && found)
    if (auto proved = doors_->start(index, n.disk->files(), n.clock); !proved)
      found = proved.reason();
  if (!found) {
    PROBE("sim: a node found its disk damaged");
    n.disk->crash(crash_kind::kill, tape_, disk_stream(index)); // what was opened is not used
    trace_.add(0xdead + index);
    if (trace_.wanted())
      trace_.line(time_.now(), index, "does not start: " + found.error());
    return found.reason();
  }
  if (trace_.wanted())
    trace_.line(time_.now(), index,
                "starts as server " + to_string(n.self.id) + ", log up to " +
                    to_string(found->disk.restored.entries.empty() ? found->disk.restored.snapshot.index
                                                                   : found->disk.restored.entries.back().index));
  ++n.life;
  n.view = {};
  n.failing = false;
  n.state = node_state::running;
  n.numbers = std::make_shared<actors::vitals>();
  n.counted = std::make_shared<actors::metrics>();
  spawn(index, who, std::move(*found));
  return done{};
}

result<actors::server_state> cluster::open_data(std::size_t index, actors::identity& who) {
  auto& n = nodes_[index];
  auto& files = n.disk->files();
  auto known = actors::open_data_directory(simulated_disk::data_directory, n.self.uuid, datacenter, files,
                                           [&n] { return n.self.id.value; });
  if (!known)
    return known.reason();
  who = std::move(*known);
  const auto open_checkpoints = [&n]() -> result<std::shared_ptr<storage::checkpoint_store>> {
    return std::shared_ptr<storage::checkpoint_store>(n.disk->checkpoints());
  };
  return actors::open_server_state(
      simulated_disk::data_directory, who, files, [&n] { return n.disk->open_log(); }, open_checkpoints);
}

/// Starts a node of the simulation: the actors of a real server, on the simulated disk, network and
/// clock. Everything random depends on the run's seed, the node and its life.
void cluster::spawn(std::size_t index, const actors::identity& who, actors::server_state found) {
  using namespace actors;
  auto& n = nodes_[index];
  node_plan plan;
  INVARIANT(who.id == n.self.id);
  plan.self = n.self;
  plan.datacenter = datacenter;
  plan.bootstrap_expect = bootstrap_expect_of(swarm_, index);
  plan.admit_newcomers = true;
  plan.cluster_id = n.cluster_id = who.cluster_id;
  plan.disk = std::move(found.disk);
  plan.older_checkpoint = swarm_.older_checkpoint;
  plan.machine = swarm_.machine;
  plan.machine.acl_enabled = swarm_.acls != acl_mode::off;
  plan.machine.master_token = swarm_.acls == acl_mode::off ? "" : master_token;
  n.tables = swarm_.other_threads ? std::make_shared<actors::shared_tables>(2, *n.numbers) : nullptr;
  plan.machine.shared = n.tables;
  plan.machine.uuid = [seed = tape_.seed(), index, life = n.life, number = std::uint64_t{0}]() mutable {
    return uuid_of(~seed, (index << 48) + (static_cast<std::uint64_t>(life) << 32) + ++number);
  };
  plan.peer = swarm_.peer;
  plan.peer.replica = is_replica(index);
  plan.peer.level = level_of(index);
  if (swarm_.beginning == beginning::beside_others && index >= swarm_.nodes &&
      !is_replica(index)) // an operator would write the same: retry_join
    for (std::size_t i = 0; i < swarm_.nodes; ++i)
      plan.peer.join.push_back(nodes_[i].self.address);
  // Elections depend on the run's seed, the node and its life, but not on the tape, which changes.
  plan.peer.seed = tape_.seed() * 1000 + index * 100 + static_cast<std::uint64_t>(n.life);
  plan.agent.compare_interval = compare_interval;
  plan.probes = std::make_shared<simulated_probes>(
      time_, tape_, stream{stream_kind::client, static_cast<std::uint16_t>(first_probe_stream + index)},
      [this](const std::string& target) { return !well || well(target); });
  plan.promised = std::move(found.promised);
  actors::keep_membership_in(plan.peer, simulated_disk::data_directory, who, n.disk->files());
  plan.peer.promised = [this, index, keep = std::move(plan.peer.promised)](const raft::promise& p) {
    const bool kept = keep(p);
    if (kept && promised)
      promised(index);
    return kept;
  };
  plan.peer.joined = [this, index, keep = std::move(plan.peer.joined)](std::uint64_t id) {
    if (!keep(id))
      return false;
    nodes_[index].cluster_id = id;
    if (joined)
      joined(index);
    return true;
  };
  plan.wall_clock = [clock = n.clock] { return clock->wall(); };
  plan.clock = n.clock;
  plan.fail_stop = [this, index] {
    nodes_[index].failing = true;
    throw node_failure{};
  };
  plan.spawn_links = [this, index](const node_actors_ptr& node_actors) { return spawn_links(index, node_actors); };
  plan.spawn_gateway = [this, index](const node_actors_ptr& node_actors) { return spawn_gateway(index, node_actors); };
  if (doors_)
    plan.spawn_keyring = [this, index](const node_actors_ptr& node_actors) {
      return spawn_keyring(index, node_actors);
    };
  n.requests = request_ids(0, plan.peer.seed + 7); // not the gateway's own
  n.composition = std::make_unique<node_composition>(time_.system(), std::move(plan), n.numbers, *n.counted);
  const auto& w = n.composition->handles();
  n.peer = dynamic_cast<const actors::raft_peer*>(caf::actor_cast<caf::abstract_actor*>(w.raft_peer));
  n.fsm = dynamic_cast<const actors::fsm*>(caf::actor_cast<caf::abstract_actor*>(w.fsm));
  n.composition->for_each_actor(
      [&](const auto& handle) { time_.enlist(index, kind_of(handle), caf::actor_cast<caf::actor>(handle)); });
  time_.enlist(index, actor_kind::sockets, n.gateway->sockets());
  n.composition->begin();
}

actors::gateway_settings cluster::gateway_settings_of(std::size_t index) {
  auto& n = nodes_[index];
  actors::gateway_settings g;
  g.queue_timeout = swarm_.peer.queue_timeout;
  g.seed = tape_.seed() * 1000 + index * 100 + static_cast<std::uint64_t>(n.life);
  g.routes.node_name = n.self.name;
  g.routes.session_ttl_min = session_ttl_min;
  g.routes.token_ttl_min = token_ttl_min;
  g.routes.acl_enabled = swarm_.acls != acl_mode::off;
  g.routes.acl_allowed_by_default = swarm_.acls != acl_mode::default_deny;
  g.routes.consistent_by_default = swarm_.consistent_by_default;
  g.facts.node_name = n.self.name;
  g.facts.node_uuid = n.self.uuid;
  g.wall_clock = [clock = n.clock] {
    return std::chrono::system_clock::time_point(std::chrono::milliseconds(clock->wall().value));
  };
  return g;
}

std::unique_ptr<simulated_gateway> cluster::open_gateway(std::size_t index, const actors::node_actors_ptr& node_actors,
                                                         actors::gateway_settings g) {
  auto& n = nodes_[index];
  return std::make_unique<simulated_gateway>(
      time_.system(), node_actors, std::move(g), *n.counted,
      [this, index, life = n.life](connection_id c, std::string_view bytes, bool last) {
        return agent_connections::owns(c) ? agent_connections_.answer(c, bytes, last)
                                          : received(index, life, c, bytes, last);
      });
}

actors::http_gateway_actor cluster::spawn_gateway(std::size_t index, const actors::node_actors_ptr& node_actors) {
  auto& n = nodes_[index];
  auto g = gateway_settings_of(index);
  if (n.tables != nullptr) // it is the second one; the first is on the thread of the tables
    g.read_here = [tables = n.tables](const http::read_request& r, actors::monotonic_time now) {
      auto found = tables->read(1, r, now);
      if (found)
        PROBE("sim: a key is read beside the thread of the tables");
      return found;
    };
  n.gateway = open_gateway(index, node_actors, std::move(g));
  return n.gateway->handle();
}

void cluster::before(const enlisted& who, const caf::type_erased_tuple& message) {
  using namespace actors;
  if (who.kind != actor_kind::gateway || who.node == no_node || is_agent(who.node))
    return;
  auto& n = nodes_[who.node];
  const auto hand_on = [&](const auto& answer) {
    if (answered)
      answered(who.node, n.life, answer);
  };
  if (message.match_element<cluster_view>(0)) {
    const auto& v = message.get_as<cluster_view>(0);
    const bool news = v.serving && (!n.view.serving || n.view.soft.term != v.soft.term);
    n.view = v;
    if (news && led)
      led(who.node);
  } else if (message.match_element<write_results>(0)) {
    for (const auto& r : message.get_as<write_results>(0).list)
      hand_on(r);
  } else if (message.match_element<renew_result>(0)) {
    hand_on(message.get_as<renew_result>(0));
  } else if (message.match_element<read_result>(0)) {
    auto result = message.get_as<read_result>(0);
    if (result.shared)
      result.answer = *std::exchange(result.shared, nullptr);
    hand_on(result);
  } else if (message.match_element<archive_packed>(0)) {
    hand_on(message.get_as<archive_packed>(0));
  } else if (message.match_element<archive_unpacked>(0)) {
    hand_on(message.get_as<archive_unpacked>(0));
  }
}

actors::peer_link_actor cluster::spawn_links(std::size_t index, const actors::node_actors_ptr& node_actors) {
  using namespace actors;
  return stub_of<peer_link_actor>(
      time_.system(),
      [this, index](const send_frames& f) {
        if (level_of(index) != 0)
          return net_.send(index, f);
        auto known = f; // an older version has no gossip
        std::erase_if(known.list, [](const auto& each) { return std::holds_alternative<wire::gossip>(each.second); });
        net_.send(index, known);
      },
      [this, index, node_actors](const announce& a) {
        auto hello = a.hello;
        hello.has_replicas = hello.has_replicas && hello.level != 0;
        net_.announce(index, nodes_[index].self.id, node_actors->raft_peer, hello);
      });
}

actors::keyring_keeper_actor cluster::spawn_keyring(std::size_t index, const actors::node_actors_ptr& node_actors) {
  return time_.system().spawn<actors::keyring_keeper>(node_actors, [this, index](const forward::keyring_operation& op) {
    auto& n = nodes_[index];
    if (op.verb != forward::keyring_verb::list && swarm_.faults.power && tape_.chance(of_keyrings, dark_per_million)) {
      PROBE("sim: the power fails while a keyring is written");
      n.dark = true;
      n.disk->files().stop_after(1 + tape_.choose(of_keyrings, calls_of_a_keyring),
                                 static_cast<std::uint16_t>(tape_.choose(of_keyrings, 1u << 16)));
    }
    return doors_->operate(index, op);
  });
}

// ---- ending

void cluster::stop(std::size_t index, bool power) {
  auto& n = nodes_[index];
  INVARIANT(n.state != node_state::down);
  n.ending = true;
  if (n.state == node_state::paused)
    time_.resume(index);
  n.clock->go_on();
  // If the disk is in the middle of a write, a part of the write may be done.
  if (power)
    for (const auto kind : {actor_kind::log, actor_kind::checkpoints})
      if (time_.is_busy(index, kind) && n.disk->interrupt_next(tape_, disk_stream(index)))
        time_.finish_busy(index, kind);
  if (is_agent(index)) // the agent's servers forget what it forwarded while they still run
    n.gateway->hang_up_all();
  time_.kill(index);
  agent_connections_.gone(index, power);
  n.gateway.reset();
  end_agent(n);
  n.composition.reset();
  n.peer = nullptr;
  n.fsm = nullptr;
  n.state = node_state::down;
  n.failing = n.ending = n.dark = false;
  if (doors_)
    doors_->ended(index);
  n.disk->crash(power ? crash_kind::power : crash_kind::kill, tape_, disk_stream(index));
  if (!is_agent(index))
    net_.gone(index, power);
  if (gone)
    gone(index);
}

void cluster::kill(std::size_t index) {
  trace_.add(0x4b11 + index);
  trace_.line(time_.now(), index, "is killed");
  stop(index, false);
}

void cluster::power_off(std::size_t index) {
  trace_.add(0x0ff + index);
  trace_.line(time_.now(), index, "loses its power");
  stop(index, true);
}

void cluster::bury_the_dead() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].dark && !nodes_[i].ending)
      power_off(i);
    if (!nodes_[i].failing || nodes_[i].ending)
      continue;
    PROBE("sim: a node ended itself");
    trace_.add(0xf411 + i);
    trace_.line(time_.now(), i, "ends itself");
    stop(i, false);
  }
}

void cluster::pause(std::size_t index, pause_of what) {
  INVARIANT(running(index));
  constexpr const char* words[] = {"stands still", "is suspended", "stands still, and all its clocks"};
  trace_.line(time_.now(), index, words[static_cast<std::size_t>(what)]);
  time_.pause(index);
  auto& clock = *nodes_[index].clock;
  if (what == pause_of::suspended)
    clock.suspend();
  else if (what == pause_of::machine)
    clock.stop();
  nodes_[index].state = node_state::paused;
  if (paused)
    paused(index);
}

void cluster::resume(std::size_t index) {
  INVARIANT(state(index) == node_state::paused);
  trace_.line(time_.now(), index, "goes on");
  nodes_[index].clock->go_on();
  time_.resume(index);
  nodes_[index].state = node_state::running;
  agent_connections_.resumed(index);
  if (resumed)
    resumed(index);
}

void cluster::wipe(std::size_t index) {
  auto& n = nodes_[index];
  INVARIANT(n.state == node_state::down);
  n.disk->wipe();
  n.registrations.clear();
  if (is_agent(index) && wiped)
    wiped(index);
  if (doors_)
    doors_->wiped(index);
  born(n);
  trace_.add(0x319e + n.self.id.value);
  if (trace_.wanted())
    trace_.line(time_.now(), index, "has a new, empty disk; it will be server " + to_string(n.self.id));
}

// ---- current state

const raft::core* cluster::core(std::size_t node) const {
  return nodes_[node].peer == nullptr ? nullptr : &nodes_[node].peer->core();
}

const state::machine* cluster::machine(std::size_t node) const {
  return nodes_[node].fsm == nullptr ? nullptr : &nodes_[node].fsm->machine();
}

bool cluster::acls_wait_for_all() const {
  return swarm_.acls != acl_mode::off && std::none_of(nodes_.begin(), nodes_.end(), [](const auto& n) {
           return n.fsm != nullptr && n.fsm->machine().has_access_rows();
         });
}

bool cluster::has_lease(std::size_t node) const {
  const auto& n = nodes_[node];
  const auto now = n.clock->now();
  return n.fsm != nullptr && (n.fsm->lease_until() > now || (n.tables != nullptr && n.tables->lease_until() > now));
}

std::optional<std::size_t> cluster::leader() const {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (serving(i) && (!found || view(i).soft.term > view(*found).soft.term))
      found = i;
  return found;
}

std::optional<raft::configuration> cluster::configuration() const {
  const raft::core* most = nullptr;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const auto* c = core(i);
    if (c != nullptr && (most == nullptr || c->commit_index() > most->commit_index()))
      most = c;
  }
  if (most == nullptr || !raft::settled(*most))
    return std::nullopt;
  return most->config();
}

std::optional<std::size_t> cluster::node_of(node_id id) const {
  for (std::size_t i = 0; i < size(); ++i)
    if (nodes_[i].self.id == id)
      return i;
  return std::nullopt;
}

} // namespace belay::sim
