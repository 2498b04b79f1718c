// The agent's actor on CAF's test clock, with a catalog, a disk and peers controlled by the test.

#include "actors/agent/health_checks.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/wire/registration_codec.hpp"
#include "sim/environment/stub_of.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/send.hpp>

#include <catch2/catch.hpp>

#include <map>

using namespace belay;
using namespace belay::actors;
using namespace std::chrono_literals;

namespace {

struct fake_probes : probe_runner {
  std::vector<std::pair<agent::check_definition, finished>> started;
  bool stopped = false;

  void start(const agent::check_definition& check, finished then) override {
    started.emplace_back(check, std::move(then));
  }
  void stop() override { stopped = true; }
};

/// Replaces fsm, gateway, keeper and links of a node.
class agent_fixture {
public:
  explicit agent_fixture(health_checks_start start = {})
      : system_(config_), scheduler_(dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler())) {
    log::settings quiet;
    quiet.to_stdout = false;
    log::configure(quiet);
    scheduler_.clock().current_time += 1h;
    handles->fsm = spawn_fsm();
    handles->peer_link = sim::stub_of<peer_link_actor>(
        system_, [this](const send_frames& f) { frames.insert(frames.end(), f.list.begin(), f.list.end()); });
    handles->registration_keeper =
        sim::stub_of<registration_keeper_actor>(system_, [this](const keep_registrations& k) {
          for (const auto& [name, bytes] : k.files)
            disk[name] = bytes;
          ++batches;
          if (!disk_is_slow)
            caf::anon_send(handles->health_checks, registrations_kept{k.token, {}});
          last_token = std::max(last_token, k.token);
        });
    handles->gateways.push_back(sim::stub_of<http_gateway_actor>(
        system_, [this](const agent_answer& a) { CHECK(answers.emplace(a.id.value, a.reply).second); }));
    health_checks_settings s;
    s.agent.registry.node.node = "n1";
    s.agent.registry.node.id = "id";
    s.agent.registry.node.meta = state::string_map{{"rack", "7"}};
    s.wall_clock = [this] { return cluster_time{static_cast<std::uint64_t>(wall.count())}; };
    handles->health_checks = system_.spawn<health_checks>(nullptr, handles, s, std::move(start), probes);
    handles->gateways.push_back(handles->health_checks);
    caf::anon_send(handles->health_checks, tick_atom::value);
    settle();
  }
  ~agent_fixture() {
    caf::anon_send(handles->health_checks, stop_atom::value);
    caf::anon_send(handles->peer_link, stop_atom::value);
    caf::anon_send(handles->gateways[0], stop_atom::value);
    caf::anon_send(handles->fsm, stop_atom::value);
    settle();
    CHECK(probes->stopped);
    *handles = {};
    scheduler_.clock().cancel_all();
    settle();
  }

  void settle() {
    while (scheduler_.try_run_once()) {
    }
  }
  void pass(std::chrono::milliseconds d) {
    for (auto gone = 0ms; gone < d; gone += 10ms) {
      scheduler_.advance_time(10ms);
      wall += 10ms;
      settle();
    }
  }
  void leader(std::uint64_t id) {
    cluster_view v;
    v.self = node_id{1};
    v.soft.leader = node_id{id};
    v.config.members = {{node_id{1}, "id", "n1", "10.0.0.1:8300"}, {node_id{2}, "id2", "n2", "10.0.0.2:8300"}};
    caf::anon_send(handles->health_checks, v);
    settle();
  }
  request_id ask(agent::request r) {
    const request_id id{++requested_};
    caf::anon_send(handles->health_checks, agent_call{id, std::move(r)});
    settle();
    return id;
  }
  bool answered(request_id id) const { return answers.count(id.value) != 0; }
  template <class Reply>
  Reply answer_to(request_id id) {
    REQUIRE(answered(id));
    REQUIRE(std::holds_alternative<Reply>(answers.at(id.value)));
    return std::get<Reply>(answers.at(id.value));
  }
  std::string status_of(const std::string& check) {
    for (const auto& c : answer_to<agent::check_rows>(ask(agent::list_checks{})).list)
      if (c->check_id == check)
        return c->status;
    return "(none)";
  }
  void answer_write(const check_write& w, wire::call_outcome outcome = wire::call_outcome::done) {
    if (outcome == wire::call_outcome::done)
      apply(w.command);
    write_result r;
    r.id = w.id;
    r.outcome = outcome;
    if (outcome == wire::call_outcome::done)
      r.reply = true;
    else
      r.text = "No cluster leader";
    caf::anon_send(handles->gateways.at(gateway_of(w.id)), write_results{{std::move(r)}});
    settle();
  }

  std::shared_ptr<node_actors> handles = std::make_shared<node_actors>();
  std::shared_ptr<fake_probes> probes = std::make_shared<fake_probes>();
  std::vector<check_write> writes; ///< all of them
  bool catalog_is_slow = false;    ///< the test answers them
  state::node_services services;
  std::map<std::string, state::check_record> checks;
  std::string other_node = "other"; ///< its rows are these
  state::node_services other_services;
  state::checks other_checks;
  std::map<std::string, std::string> disk;
  bool disk_is_slow = false;
  std::uint64_t last_token = 0;
  int batches = 0; ///< sent to the keeper
  std::vector<std::pair<node_id, wire::frame>> frames;
  std::map<std::uint64_t, agent::reply> answers;
  std::chrono::milliseconds wall{1'795'000'000'000};

private:
  struct config : caf::actor_system_config {
    config() { set("scheduler.policy", caf::atom("testing")); }
  };

  void apply(const state::command& c) {
    if (const auto* r = std::get_if<state::catalog_register>(&c)) {
      if (!r->skip_node_update)
        services.node = std::make_shared<const state::node_record>(r->node);
      for (const auto& each : r->checks)
        checks[each.check_id] = each;
      if (r->service)
        services.services.push_back(std::make_shared<const state::service_record>(*r->service));
    } else if (const auto* d = std::get_if<state::catalog_deregister>(&c)) {
      checks.erase(d->check_id);
      std::erase_if(services.services, [&](const auto& s) { return s->id == d->service_id; });
    }
  }

  fsm_actor spawn_fsm() {
    return sim::stub_of<fsm_actor>(
        system_,
        [this](const check_write& w) {
          writes.push_back(w);
          if (!catalog_is_slow) {
            apply(w.command);
            write_result r;
            r.id = w.id;
            r.outcome = wire::call_outcome::done;
            r.reply = true;
            caf::anon_send(handles->gateways.at(gateway_of(w.id)), write_results{{std::move(r)}});
          }
        },
        [this](const read_query& q) {
          state::query_result found;
          found.index = log_index{1};
          const auto* of_node = std::get_if<state::catalog_node>(&q.request.query);
          const auto* health = std::get_if<state::health_node>(&q.request.query);
          if (of_node != nullptr && of_node->node == other_node) {
            CHECK(q.request.mode == http::consistency::stale); // no traffic between servers every second
            found.data = other_services;
          } else if (health != nullptr && health->node == other_node) {
            found.data = other_checks;
          } else if (of_node != nullptr) {
            found.data = services;
          } else {
            state::checks list;
            for (const auto& [id, row] : checks)
              list.list.push_back(std::make_shared<const state::check_record>(row));
            found.data = std::move(list);
          }
          caf::anon_send(handles->gateways.at(gateway_of(q.id)), read_result{q.id, std::move(found), 0, true});
        });
  }

  config config_;
  caf::actor_system system_;
  caf::scheduler::test_coordinator& scheduler_;
  std::uint64_t requested_ = 0;
};

agent::check_definition ttl_check(std::string id, std::chrono::nanoseconds ttl) {
  agent::check_definition d;
  d.id = d.name = std::move(id);
  d.ttl_ns = ttl.count();
  return d;
}

} // namespace

TEST_CASE("a TTL check that is not renewed turns critical here and in the catalog", "[health_checks]") {
  agent_fixture f;
  f.leader(1);
  auto c = ttl_check("c", 5s);
  c.status = "passing";
  f.answer_to<agent::accepted>(f.ask(agent::register_check{c}));
  CHECK(f.checks.at("c").status == "passing");
  f.pass(4900ms);
  CHECK(f.status_of("c") == "passing");
  f.pass(200ms);
  CHECK(f.status_of("c") == "critical");
  CHECK(f.checks.at("c").status == "critical");
  CHECK(f.checks.at("c").output == "TTL expired");
}

TEST_CASE("a client gets its response when disk and catalog have its registration, not before", "[health_checks]") {
  agent_fixture f;
  f.leader(1);
  f.catalog_is_slow = f.disk_is_slow = true;
  const auto id = f.ask(agent::register_check{ttl_check("c", 1h)});
  CHECK_FALSE(f.answered(id));
  REQUIRE(f.writes.size() == 1);
  f.answer_write(f.writes[0]);
  CHECK_FALSE(f.answered(id));
  caf::anon_send(f.handles->health_checks, registrations_kept{f.last_token, {}});
  f.settle();
  CHECK(f.answered(id));
  CHECK(f.disk.size() == 1);
}

// Each update of a TTL check was a message with the whole check. A client that sent them faster
// than the disk wrote them filled the memory of its agent: 1 GB in 12 s.
TEST_CASE("updates wait for a slow disk as one write with the newest of them", "[health_checks]") {
  health_checks_start kept;
  {
    agent_fixture f;
    f.ask(agent::register_check{ttl_check("c", 1h)});
    f.ask(agent::register_check{ttl_check("d", 1h)});
    f.disk_is_slow = true;
    f.ask(agent::update_check{"c", "warning", "first"});
    const auto sent = f.batches;
    for (int i = 0; i < 100; ++i)
      f.answer_to<agent::accepted>(f.ask(agent::update_check{"c", "passing", std::to_string(i)}));
    const auto removed = f.ask(agent::deregister_check{"d"});
    CHECK(f.batches == sent);
    caf::anon_send(f.handles->health_checks, registrations_kept{0, {}});
    f.settle();
    CHECK(f.batches == sent + 1);
    CHECK_FALSE(f.answered(removed));
    caf::anon_send(f.handles->health_checks, registrations_kept{f.last_token, {}});
    f.settle();
    CHECK(f.batches == sent + 1);
    CHECK(f.answered(removed));
    for (const auto& [name, bytes] : f.disk)
      if (!bytes.empty())
        kept.kept.emplace_back(name, bytes);
  }
  REQUIRE(kept.kept.size() == 1);
  agent_fixture next(kept);
  CHECK(next.status_of("c") == "passing");
  CHECK(next.answer_to<agent::check_rows>(next.ask(agent::list_checks{})).list.at(0)->output == "99");
}

TEST_CASE("what waits for a slow disk is kept when the node stops", "[health_checks]") {
  health_checks_start kept;
  {
    agent_fixture f;
    f.ask(agent::register_check{ttl_check("c", 1h)});
    f.disk_is_slow = true;
    f.ask(agent::update_check{"c", "warning", "first"});
    f.ask(agent::update_check{"c", "passing", "last"});
    caf::anon_send(f.handles->health_checks, stop_atom::value);
    f.settle();
    REQUIRE(f.disk.size() == 1);
    kept.kept.emplace_back(*f.disk.begin());
  }
  agent_fixture next(kept);
  CHECK(next.status_of("c") == "passing");
}

TEST_CASE("without a leader the agent works and the catalog follows later", "[health_checks]") {
  agent_fixture f;
  const auto id = f.ask(agent::register_check{ttl_check("c", 1h)});
  CHECK(f.answered(id));
  CHECK(f.writes.empty());
  f.leader(2);
  CHECK(f.checks.count("c") == 1);
}

TEST_CASE("a write that failed is tried again, and its client does not wait for that", "[health_checks]") {
  agent_fixture f;
  f.leader(1);
  f.catalog_is_slow = true;
  const auto id = f.ask(agent::register_check{ttl_check("c", 1h)});
  f.answer_write(f.writes.at(0), wire::call_outcome::unknown);
  CHECK(f.answered(id));
  f.pass(2900ms);
  CHECK(f.writes.size() == 1);
  f.catalog_is_slow = false;
  f.pass(200ms);
  CHECK(f.checks.count("c") == 1);
}

TEST_CASE("a client that waits for a catalog that does not respond gets a response at last", "[health_checks]") {
  agent_fixture f;
  f.leader(1);
  f.catalog_is_slow = true;
  const auto id = f.ask(agent::register_check{ttl_check("c", 1h)});
  f.pass(6900ms);
  CHECK_FALSE(f.answered(id));
  f.pass(200ms);
  CHECK(f.answered(id));
}

TEST_CASE("a row that a client removed from the catalog returns with the next comparison", "[health_checks]") {
  agent_fixture f;
  f.leader(1);
  f.ask(agent::register_check{ttl_check("c", 10h)});
  f.pass(1100ms); // the first comparison comes soon after the election
  REQUIRE(f.services.node != nullptr);
  CHECK(f.services.node->meta->at("rack") == "7"); // only the node itself has this
  f.checks.clear();
  f.pass(121s);
  CHECK(f.checks.count("c") == 1);
}

TEST_CASE("probes are run and their results shown", "[health_checks]") {
  agent_fixture f;
  f.leader(1);
  agent::check_definition c;
  c.id = c.name = "t";
  c.tcp = "127.0.0.1:1";
  c.interval_ns = std::chrono::nanoseconds(2s).count();
  f.ask(agent::register_check{c});
  f.pass(2100ms);
  REQUIRE(f.probes->started.size() == 1);
  CHECK(f.probes->started[0].first.tcp == c.tcp);
  f.probes->started[0].second("passing", "TCP connect 127.0.0.1:1: Success");
  f.settle();
  CHECK(f.status_of("t") == "passing");
  CHECK(f.checks.at("t").output == "TCP connect 127.0.0.1:1: Success");
  f.pass(2100ms);
  CHECK(f.probes->started.size() == 2);
}

TEST_CASE("an alias of another node shows that node's health in the catalog", "[health_checks]") {
  agent_fixture f;
  f.leader(1);
  agent::check_definition c;
  c.id = c.name = "a";
  c.alias_node = "other";
  c.alias_service = "web";
  f.ask(agent::register_check{c});
  f.pass(1100ms);
  CHECK(f.status_of("a") == "critical");
  CHECK(f.checks.at("a").output.empty()); // only its output has changed: that can wait

  f.other_services.node = std::make_shared<const state::node_record>();
  f.pass(1100ms);
  CHECK(f.checks.at("a").output.empty());
  state::service_record web;
  web.id = web.service = "web";
  f.other_services.services.push_back(std::make_shared<const state::service_record>(web));
  f.pass(1100ms);
  CHECK(f.status_of("a") == "passing");
  CHECK(f.checks.at("a").output == "No checks found.");

  state::check_record failing;
  failing.name = "disk";
  failing.status = "warning";
  failing.output = "nearly full";
  f.other_checks.list.push_back(std::make_shared<const state::check_record>(failing));
  f.pass(1100ms);
  CHECK(f.status_of("a") == "warning");
  CHECK(f.checks.at("a").output == "Aliased check \"disk\" failing: nearly full");
  f.ask(agent::deregister_check{"a"}); // even during the lookup
  f.pass(2s);
  CHECK(f.status_of("a") == "(none)");
  CHECK(f.probes->started.empty());
}

TEST_CASE("events reach every peer, leader or not, and wake the queries that wait for them", "[health_checks]") {
  agent_fixture f;
  f.leader(0);
  const auto waits = f.ask(agent::list_events{"", 1, 10s});
  const auto other = f.ask(agent::list_events{"other", 1, 10s});
  const auto cancelled = f.ask(agent::list_events{"", 1, 10s});
  caf::anon_send(f.handles->health_checks, cancel_query{cancelled});
  agent::user_event e;
  e.id = "11111111-2222-4333-8444-555555555555";
  e.name = "deploy";
  const auto fired = f.ask(agent::fire_event{e});
  CHECK(f.answer_to<agent::event_fired>(fired).event.name == "deploy");
  REQUIRE(f.frames.size() == 1);
  CHECK(f.frames[0].first == node_id{2});
  CHECK(std::get<agent::user_event>(f.frames[0].second).time == 1);
  CHECK(f.answer_to<agent::event_rows>(waits).events.list.size() == 1);
  CHECK_FALSE(f.answered(other));
  CHECK_FALSE(f.answered(cancelled));
  f.pass(10100ms);
  CHECK(f.answer_to<agent::event_rows>(other).events.list.empty());
  CHECK_FALSE(f.answered(cancelled));

  agent::user_event theirs = e;
  theirs.id = "11111111-2222-4333-8444-555555555556";
  caf::anon_send(f.handles->health_checks, event_received{theirs});
  f.settle();
  CHECK(f.answer_to<agent::event_rows>(f.ask(agent::list_events{"", 0, 0s})).events.list.size() == 2);
  CHECK(f.frames.size() == 1); // the node that fires an event sends it to all
}

TEST_CASE("registrations survive the process, results as long as their TTL", "[health_checks]") {
  std::map<std::string, std::string> disk;
  std::chrono::milliseconds wall{0};
  {
    agent_fixture f;
    agent::register_service s;
    s.definition.service.service = "web";
    s.definition.checks = {ttl_check("w", 10s)};
    f.ask(s);
    f.ask(agent::update_check{"w", "passing", "fine"});
    f.ask(agent::register_check{ttl_check("gone", 10s)});
    f.ask(agent::deregister_check{"gone"});
    disk = f.disk;
    wall = f.wall;
  }
  REQUIRE(disk.size() == 3);
  health_checks_start kept;
  for (const auto& [name, bytes] : disk)
    if (!bytes.empty())
      kept.kept.emplace_back(name, bytes);
  REQUIRE(kept.kept.size() == 2);
  auto damaged = kept;
  damaged.kept[0].second.back() ^= 1;

  agent_fixture next(kept); // its wall clock begins where the first one's did
  CHECK(next.status_of("w") == "passing");
  CHECK(next.answer_to<agent::service_rows>(next.ask(agent::list_services{})).list.size() == 1);
  next.leader(1);
  CHECK(next.checks.at("w").status == "passing");

  agent_fixture without(damaged);
  CHECK(without.status_of("w") == "(none)");
}

TEST_CASE("a kept HTTP check that could not be sent is left out", "[health_checks]") {
  health_checks_start kept;
  for (const std::string value : {"fine", "two\r\nlines"}) {
    agent::stored_check c;
    c.definition.id = c.definition.name = value.substr(0, 3);
    c.definition.http = "http://127.0.0.1:1/";
    c.definition.interval_ns = std::chrono::nanoseconds(10s).count();
    c.definition.header["X-Mine"] = {value};
    kept.kept.emplace_back("check-" + c.definition.id, wire::encode_registration(c, 0));
  }
  agent_fixture f(kept);
  CHECK(f.status_of("fin") == "critical");
  CHECK(f.status_of("two") == "(none)");
  CHECK(f.disk.empty()); // its file stays, so that an operator can see what it was
  f.pass(11s);
  REQUIRE(f.probes->started.size() == 1);
  CHECK(f.probes->started[0].first.id == "fin");
}

TEST_CASE("definitions that are reloaded reach the catalog, and those that cannot be change nothing", "[agent]") {
  agent_fixture f;
  f.leader(1);
  std::vector<std::string> response;
  const auto reload = [&](agent::configured_definitions now) {
    caf::anon_send(f.handles->health_checks,
                   change_definitions{std::move(now), [&](status s) { response.push_back(s ? "done" : s.error()); }});
    f.settle();
  };
  agent::service_definition web;
  web.service.service = "web";
  reload({{web}, {ttl_check("c", 10s)}, state::string_map{{"rack", "8"}}});
  f.pass(200ms);
  CHECK(response == std::vector<std::string>{"done"});
  REQUIRE(f.services.services.size() == 1);
  CHECK(f.services.services[0]->id == "web");
  CHECK(f.checks.contains("c"));
  CHECK(f.services.node->meta == state::string_map{{"rack", "8"}});
  auto homeless = ttl_check("d", 10s);
  homeless.service_id = "none";
  reload({{}, {homeless}, std::nullopt});
  f.pass(200ms);
  CHECK(response.back() == "check \"d\": ServiceID \"none\" does not exist");
  CHECK(f.services.services.size() == 1);
  reload({});
  f.pass(200ms);
  CHECK(f.services.services.empty());
  CHECK(f.checks.empty());
}
