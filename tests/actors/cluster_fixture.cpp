#include "tests/actors/cluster_fixture.hpp"

#include "actors/node/keyring_keeper.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/uuid.hpp"
#include "protocol/wire/command_codec.hpp"
#include "protocol/wire/operator_codec.hpp"
#include "sim/environment/stub_of.hpp"

#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <stdexcept>

namespace belay::actors::testing {

namespace {

// An evening in November 2026, so that cluster times look realistic.
constexpr std::uint64_t wall_base_ms = 1'795'000'000'000;
// Divides all periods of the actors.
constexpr milliseconds clock_step{1};

} // namespace

/// Like actors/node/boot_clock.hpp: true time, which includes suspensions.
class cluster_fixture::suspended_clock final : public node_clock {
public:
  suspended_clock(cluster_fixture& c, std::size_t node) : cluster_(c), node_(node) {}
  monotonic_time now() const override { return cluster_.now() + cluster_.nodes_[node_].suspended; }
  std::chrono::nanoseconds in_system_time(std::chrono::nanoseconds own) const override { return own; }

private:
  cluster_fixture& cluster_;
  std::size_t node_;
};

cluster_fixture::cluster_fixture(cluster_options options)
    : options_(std::move(options)), system_(config_),
      scheduler_(dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler())), order_(options_.shuffle) {
  log::settings quiet;
  quiet.to_stdout = false;
  log::configure(quiet);
  // An epoch that cannot be confused with a deadline of zero.
  scheduler_.clock().current_time += std::chrono::hours(1);
  nodes_.resize(options_.nodes);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    auto& self = nodes_[i].self;
    self.id = node_id{++servers_made_};
    self.uuid = uuid_of(0, self.id.value);
    self.name = "node-" + std::to_string(i);
    self.address = "10.0.0." + std::to_string(i + 1) + ":8300";
    nodes_[i].keys = options_.keys;
  }
  net_.credentials = !options_.keys.empty();
  if (options_.start)
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      start(i);
}

cluster_fixture::~cluster_fixture() {
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (alive(i))
      crash(i, true);
  scheduler_.clock().cancel_all();
  settle();
}

// ---- time

bool cluster_fixture::step() {
  auto& jobs = scheduler_.jobs;
  if (jobs.empty())
    return false;
  if (options_.shuffle != 0)
    std::swap(jobs.front(), jobs[order_.below(jobs.size())]);
  return scheduler_.try_run_once();
}

void cluster_fixture::settle() {
  while (step()) {
  }
}

void cluster_fixture::pass(milliseconds d) {
  settle();
  for (milliseconds gone{0}; gone < d; gone += clock_step) {
    scheduler_.advance_time(clock_step);
    settle();
  }
}

bool cluster_fixture::until(const std::function<bool()>& what, milliseconds limit) {
  if (what())
    return true;
  for (milliseconds gone{0}; gone <= limit; gone += clock_step) {
    while (step())
      if (what())
        return true;
    scheduler_.advance_time(clock_step);
  }
  return false;
}

monotonic_time cluster_fixture::now() {
  return scheduler_.clock().now();
}

cluster_time cluster_fixture::wall_clock(std::size_t node) {
  const auto since = std::chrono::duration_cast<milliseconds>(now().time_since_epoch()) + nodes_[node].wall_ahead;
  return cluster_time{wall_base_ms + static_cast<std::uint64_t>(since.count())};
}

// ---- nodes

http_gateway_actor cluster_fixture::spawn_gateway(std::size_t index) {
  const auto at = [this, index, life = nodes_[index].life](request_id id) -> call_answers& {
    auto& a = answers_[{index, life, id}];
    a.at = now();
    return a;
  };
  return sim::stub_of<http_gateway_actor>(
      system_,
      [at](const write_results& w) {
        for (const auto& r : w.list)
          at(r.id).writes.push_back(r);
      },
      [at](const renew_result& r) { at(r.id).renewals.push_back(r); },
      [at](const read_result& r) {
        auto& got = at(r.id).reads.emplace_back(r);
        if (got.shared)
          got.answer = *got.shared;
      },
      [this, index](const cluster_view& v) { nodes_[index].view = v; });
}

peer_link_actor cluster_fixture::spawn_links(std::size_t index, const node_actors_ptr& node_actors) {
  return sim::stub_of<peer_link_actor>(
      system_, [this, index](const send_frames& f) { net_.send(index, f); },
      [this, index, id = nodes_[index].self.id, node_actors](const announce& a) {
        auto hello = a.hello;
        hello.has_replicas = hello.has_replicas && !options_.older.contains(index);
        net_.announce(index, id, node_actors->raft_peer, hello);
      });
}

void cluster_fixture::start(std::size_t index) {
  auto& n = nodes_[index];
  REQUIRE(!alive(index));
  ++n.life;
  n.requests = 0;
  n.view = {};
  n.numbers = std::make_shared<vitals>();
  auto disk = read_disk(n.log, n.checkpoints);
  REQUIRE(disk.ok());
  node_plan plan;
  plan.self = n.self;
  plan.datacenter = "dc1";
  plan.bootstrap_expect = options_.expect != 0 ? options_.expect : static_cast<std::uint32_t>(options_.nodes);
  if (options_.replicas.contains(index))
    plan.bootstrap_expect = 0;
  plan.admit_newcomers = options_.admit_newcomers;
  plan.cluster_id = n.cluster_id;
  plan.node_meta = {{"rack", std::to_string(index)}};
  plan.disk = std::move(*disk);
  plan.older_checkpoint = options_.older_checkpoint;
  plan.machine = options_.machine;
  if (options_.http_threads)
    plan.machine.shared = n.shared = std::make_shared<shared_tables>(1, *n.numbers);
  plan.peer = options_.peer;
  plan.peer.replica = options_.replicas.contains(index);
  plan.peer.level = nodes_[index].level;
  plan.peer.seed = options_.seed * 1000 + index * 10 + static_cast<std::uint64_t>(n.life);
  plan.promised = n.promised;
  plan.peer.promised = [this, index](const raft::promise& p) {
    nodes_[index].promised = p;
    return true;
  };
  plan.peer.joined = [this, index](std::uint64_t id) {
    auto& self = nodes_[index];
    if (self.identity_saves_fail > 0 && self.identity_saves_fail-- > 0)
      return false;
    self.cluster_id = id;
    return true;
  };
  plan.wall_clock = [this, index] { return wall_clock(index); };
  plan.clock = std::make_shared<suspended_clock>(*this, index);
  n.gave_up = false;
  plan.fail_stop = [this, index] {
    nodes_[index].gave_up = true;
    throw ended_for_test{};
  };
  plan.spawn_links = [this, index](const node_actors_ptr& node_actors) { return spawn_links(index, node_actors); };
  if (!options_.keys.empty())
    plan.spawn_keyring = [this, index](const node_actors_ptr& node_actors) -> keyring_keeper_actor {
      return system_.spawn<keyring_keeper>(node_actors, [this, index](const forward::keyring_operation& op) {
        return forward::operate_on(nodes_[index].keys, op);
      });
    };
  plan.spawn_gateway = [this, index](const node_actors_ptr&) { return spawn_gateway(index); };
  n.composition = std::make_unique<node_composition>(system_, std::move(plan), n.numbers, *n.counted);
  n.composition->begin();
}

void cluster_fixture::crash(std::size_t index, bool silent) {
  auto& n = nodes_[index];
  REQUIRE(alive(index));
  n.composition->for_each_actor([this](const auto& handle) {
    const auto a = caf::actor_cast<caf::actor>(handle);
    // The exit goes to the front of the actor's mailbox and is handled now, so that the actor
    // handles none of the waiting messages.
    caf::actor_cast<caf::abstract_actor*>(a)->enqueue(
        nullptr, caf::make_message_id(caf::message_priority::high),
        caf::make_message(caf::exit_msg{a->address(), caf::exit_reason::kill}), nullptr);
    scheduler_.prioritize(a);
    scheduler_.try_run_once();
  });
  n.composition.reset();
  n.checkpoints->crash();
  net_.gone(index, silent);
}

void cluster_fixture::set_replica(std::size_t index, bool replica) {
  if (replica)
    options_.replicas.insert(index);
  else
    options_.replicas.erase(index);
}

void cluster_fixture::set_older(std::size_t index, bool older) {
  if (older)
    options_.older.insert(index);
  else
    options_.older.erase(index);
}

void cluster_fixture::wipe(std::size_t index) {
  REQUIRE(!alive(index));
  auto& n = nodes_[index];
  n.self.id = node_id{++servers_made_};
  n.self.uuid = uuid_of(0, n.self.id.value);
  n.cluster_id = 0;
  n.promised = {};
  n.log = std::make_shared<memory_log>();
  n.checkpoints = std::make_shared<sim::simulated_checkpoints>();
}

void cluster_fixture::move(std::size_t index, const std::string& name, const std::string& address) {
  REQUIRE(!alive(index));
  nodes_[index].self.name = name;
  nodes_[index].self.address = address;
}

std::vector<std::size_t> cluster_fixture::all_but(std::size_t node) const {
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (i != node && alive(i))
      others.push_back(i);
  return others;
}

std::size_t cluster_fixture::leader(std::vector<std::size_t> among) {
  if (among.empty())
    among = all_but(nodes_.size());
  std::size_t found = nodes_.size();
  const auto agreed = [&] {
    for (auto i : among) {
      if (!serving(i))
        continue;
      const auto id = id_of(i);
      if (std::all_of(among.begin(), among.end(), [&](std::size_t j) {
            return view(j).soft.leader == id && view(j).soft.term == view(i).soft.term;
          })) {
        found = i;
        return true;
      }
    }
    return false;
  };
  REQUIRE(until(agreed));
  return found;
}

bool cluster_fixture::converged() {
  const auto living = all_but(nodes_.size());
  const auto same = [&] {
    const auto& first = *nodes_[living.front()].numbers;
    return std::all_of(living.begin(), living.end(), [&](std::size_t i) {
      const auto& n = *nodes_[i].numbers;
      return n.applied_index == first.applied_index && n.digest_index == n.applied_index;
    });
  };
  leader();
  pass(milliseconds(600)); // two ticks of the fsm, which computes digests
  REQUIRE(until(same));
  return std::all_of(living.begin(), living.end(), [&](std::size_t i) { return digest(i) == digest(living.front()); });
}

// ---- clients

call cluster_fixture::next_call(std::size_t index) {
  REQUIRE(alive(index));
  return {index, nodes_[index].life, request_id{++nodes_[index].requests}};
}

call cluster_fixture::write(std::size_t index, const state::command& c) {
  const auto made = next_call(index);
  caf::anon_send(handles(index).fsm, check_write{made.id, c});
  return made;
}

call cluster_fixture::write_later(std::size_t index, const state::command& c, milliseconds left) {
  const auto made = next_call(index);
  caf::anon_send(handles(index).lock_delay_tracker, await_lock_delay{made.id, c, left});
  return made;
}

call cluster_fixture::put(std::size_t index, const std::string& key, const std::string& value) {
  const auto made = next_call(index);
  caf::anon_send(handles(index).raft_peer,
                 propose_write{made.id, make_payload(wire::encode_command(set_key(key, value)))});
  return made;
}

call cluster_fixture::operate(std::size_t index, const forward::operator_call& what) {
  const auto made = next_call(index);
  const auto kind = std::holds_alternative<forward::describe_health>(what) ? wire::call_kind::describe_health
                                                                           : wire::call_kind::remove_member;
  caf::anon_send(handles(index).raft_peer,
                 propose_write{made.id, make_payload(wire::encode_operator_call(what)), kind});
  return made;
}

call cluster_fixture::operate_keys(std::size_t index, forward::keyring_operation what) {
  const auto made = next_call(index);
  status_request requested{made.id, {}};
  requested.what.kind = http::local_kind::keyring;
  requested.what.keys = std::move(what);
  requested.what.local_only = true;
  caf::anon_send(handles(index).raft_peer, std::move(requested));
  return made;
}

call cluster_fixture::put_coordinate(std::size_t index, coordinates::row r) {
  const auto made = next_call(index);
  caf::anon_send(handles(index).raft_peer,
                 status_request{made.id, {.kind = http::local_kind::coordinate_update, .coordinate = std::move(r)}});
  return made;
}

call cluster_fixture::renew(std::size_t index, const std::string& session) {
  const auto made = next_call(index);
  caf::anon_send(handles(index).fsm, renew_session{made.id, session});
  return made;
}

call cluster_fixture::read(std::size_t index, const state::query& q, http::consistency mode, std::uint64_t min_index,
                           milliseconds wait) {
  const auto made = next_call(index);
  read_query r;
  r.id = made.id;
  r.request.query = q;
  r.request.mode = mode;
  r.request.min_index = min_index;
  r.request.wait = wait;
  r.deadline = now() + nodes_[index].suspended + wait;
  caf::anon_send(handles(index).fsm, std::move(r));
  return made;
}

call cluster_fixture::await_claim(std::size_t index, state::claim_status what, log_index requested_at,
                                  milliseconds wait) {
  const auto made = next_call(index);
  read_query r;
  r.id = made.id;
  r.request.query = std::move(what);
  r.request.mode = http::consistency::stale;
  r.request.min_index = requested_at.value;
  r.deadline = now() + nodes_[index].suspended + wait;
  r.until_decided = true;
  caf::anon_send(handles(index).fsm, std::move(r));
  return made;
}

void cluster_fixture::cancel(const call& c) {
  caf::anon_send(handles(c.node).fsm, cancel_query{c.id});
  caf::anon_send(handles(c.node).lock_delay_tracker, cancel_query{c.id});
}

bool cluster_fixture::answered(const call& c) {
  const auto& a = answers_[c];
  return !a.writes.empty() || !a.renewals.empty() || !a.reads.empty();
}

write_result cluster_fixture::written(const call& c) {
  REQUIRE(until([&] { return answered(c); }));
  REQUIRE(answers_[c].writes.size() == 1);
  return answers_[c].writes.front();
}

read_result cluster_fixture::found(const call& c) {
  REQUIRE(until([&] { return answered(c); }));
  REQUIRE(answers_[c].reads.size() == 1);
  return answers_[c].reads.front();
}

log_index cluster_fixture::put_done(std::size_t index, const std::string& key, const std::string& value) {
  const auto r = written(put(index, key, value));
  REQUIRE(r.outcome == wire::call_outcome::done);
  REQUIRE(std::get<bool>(r.reply));
  return r.index;
}

std::string cluster_fixture::session(std::size_t index, seconds ttl, milliseconds lock_delay) {
  // A session needs its node in the catalog; the node's agent registers it once there is a leader.
  const auto registered = [&] {
    const auto r = found(read(index, state::catalog_node{nodes_[index].self.name}, http::consistency::stale));
    return std::get<state::node_services>(std::get<state::query_result>(r.answer).data).node != nullptr;
  };
  for (int tries = 0; !registered(); ++tries) {
    REQUIRE(tries < 100);
    pass(milliseconds(10));
  }
  state::session_create c;
  c.session.id = uuid_of(0, 0xabc000 + ++sessions_);
  c.session.node = nodes_[index].self.name;
  c.session.ttl = std::to_string(ttl.count()) + "s";
  c.session.ttl_ns = std::chrono::nanoseconds(ttl).count();
  c.session.lock_delay_ns = std::chrono::nanoseconds(lock_delay).count();
  c.session.checks.emplace();
  const auto r = written(write(index, c));
  REQUIRE(r.outcome == wire::call_outcome::done);
  REQUIRE(std::holds_alternative<std::string>(r.reply));
  return std::get<std::string>(r.reply);
}

std::string cluster_fixture::stale(std::size_t index, const std::string& key) {
  return value_of(found(get(index, key, http::consistency::stale)));
}

// ---- results

std::string value_of(const read_result& r) {
  if (const auto* f = std::get_if<failure>(&r.answer))
    return "(failed: " + f->text + ")";
  const auto& entries = std::get<state::kv_entries>(std::get<state::query_result>(r.answer).data).entries;
  return std::string(entries.empty() ? "(none)" : *entries.front()->value);
}

std::uint64_t index_of(const read_result& r) {
  return std::get<state::query_result>(r.answer).index.value;
}

state::command set_key(const std::string& key, const std::string& value) {
  state::kv_write w;
  w.op.verb = state::kv_verb::set;
  w.op.key = key;
  w.op.value = make_payload(value);
  return w;
}

state::command remove_tree(const std::string& prefix) {
  state::kv_write w;
  w.op.verb = state::kv_verb::remove_tree;
  w.op.key = prefix;
  w.op.value = make_payload({});
  return w;
}

std::size_t times_in_log(const memory_log& log, const state::command& c) {
  const auto bytes = wire::encode_command(c);
  const auto& entries = log.kept().entries;
  return static_cast<std::size_t>(std::count_if(entries.begin(), entries.end(), [&](const raft::entry& e) {
    return e.kind == raft::entry_kind::command && *e.data == bytes;
  }));
}

} // namespace belay::actors::testing
