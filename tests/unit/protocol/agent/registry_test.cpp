#include "protocol/state/answer_size.hpp"
#include "tests/harness/cpu_time.hpp"
#include "tests/unit/protocol/agent/agent_driver.hpp"

#include <array>

using namespace belay::agent;
namespace state = belay::state;

TEST_CASE("checks are named after their service") {
  agent_driver d;
  auto one = ttl_check("", 10s), own = ttl_check("mine", 10s);
  one.name.clear();
  d.ask(register_service{service_named("web", {one})});
  REQUIRE(d.agent.registry().check("service:web") != nullptr);
  CHECK(d.agent.registry().check("service:web")->row->name == "Service 'web' check");
  CHECK(d.agent.registry().check("service:web")->row->service_name == "web");
  d.ask(register_service{service_named("db", {one, own, one})});
  CHECK(d.status_of("service:db:1") == "critical");
  CHECK(d.status_of("mine") == "critical");
  CHECK(d.status_of("service:db:3") == "critical");
}

TEST_CASE("a service that registers again keeps the state of its checks") {
  agent_driver d;
  d.ask(register_service{service_named("web", {ttl_check("a", 10s), ttl_check("b", 10s)})});
  d.ask(update_check{"a", "passing", "fine"});
  auto again = service_named("web", {ttl_check("a", 10s)});
  again.service.tags = std::vector<std::string>{"new"};
  d.ask(register_service{again});
  CHECK(d.status_of("a") == "passing");
  CHECK(d.output_of("a") == "fine");
  CHECK(d.status_of("b") == "critical");
  CHECK(d.agent.registry().check("b")->row->service_tags == again.service.tags);
  d.ask(register_service{again, true}); // replace-existing-checks
  CHECK(d.status_of("a") == "passing");
  CHECK(d.status_of("b") == "(none)");
}

TEST_CASE("required members of a service") {
  agent_driver d;
  const auto why = [&](auto spoil) {
    auto s = service_named("web");
    spoil(s);
    const auto no = d.ask<refused>(register_service{s});
    CHECK(no.status == 400);
    return no.text;
  };
  CHECK(why([](auto& s) { s.service.service.clear(); }) == "Missing service name");
  CHECK(why([](auto& s) { s.service.address = "0.0.0.0"; }) == "Invalid service address");
  CHECK(why([](auto& s) { s.service.weights.passing = 0; }) == "Invalid Weights: Passing must be greater than 0");
  CHECK(why([](auto& s) {
          s.service.meta = state::string_map{{"bad key!", "v"}};
        }) == "Invalid Service Meta: Couldn't load metadata pair ('bad key!', 'v'): Key contains invalid characters");
  CHECK(why([](auto& s) {
          s.service.meta = state::string_map{{"consul-x", "v"}};
        }) ==
        "Invalid Service Meta: Couldn't load metadata pair ('consul-x', 'v'): Key prefix 'consul-' is reserved for "
        "internal use");
  CHECK(why([](auto& s) { s.checks.push_back(ttl_check("c", 0s)); }) ==
        "Invalid check: TTL must be > 0 for TTL checks");
  CHECK(why([](auto& s) {
          s.checks.push_back(ttl_check("c", 1s));
          s.checks.back().status = "bogus";
        }) == "Status for checks must 'passing', 'warning', 'critical'");
  CHECK(d.agent.registry().services().empty());
}

TEST_CASE("a service's address is also a tagged one") {
  agent_driver d;
  auto s = service_named("web");
  s.service.address = "10.7.7.7";
  s.service.port = 80;
  d.ask(register_service{s});
  const auto& tagged = d.agent.registry().service("web")->row->tagged_addresses;
  REQUIRE(tagged);
  CHECK(tagged->size() == 2);
  CHECK(tagged->at("lan_ipv4").address == "10.7.7.7");
  CHECK(tagged->at("wan_ipv4").port == 80);
}

TEST_CASE("a service and its checks reach the catalog in one write, and leave it in one") {
  agent_driver d;
  d.ask(register_service{service_named("web", {ttl_check("a", 10s), ttl_check("b", 10s)})});
  d.sync();
  CHECK(d.writes == 1);
  CHECK(d.agent.registry().in_sync());
  CHECK(d.checks.at("b").node == "n1");
  d.ask(update_check{"a", "passing", ""});
  CHECK_FALSE(d.agent.registry().check_in_sync("a"));
  CHECK(d.agent.registry().check_in_sync("b"));
  d.sync();
  CHECK(d.writes == 2);
  CHECK(d.checks.at("a").status == "passing");
  d.ask(deregister_service{"web"});
  d.sync();
  CHECK(d.writes == 3);
  CHECK(d.services.empty());
  CHECK(d.checks.empty());
  CHECK(d.agent.registry().in_sync());
}

// A follower ends the connection at a frame above 64 MiB, and so does every other one.
TEST_CASE("a service with many large checks is written in several commands, all of which fit a frame") {
  agent_driver d;
  std::vector<check_definition> checks;
  for (int i = 0; i < 512; ++i) {
    auto c = ttl_check("c" + std::to_string(i), 10s);
    c.output_bytes_max = 4'000'000;
    checks.push_back(c);
  }
  auto s = service_named("web", checks);
  d.ask(register_service{s});
  for (const auto& c : checks)
    d.ask(update_check{c.id, "critical", std::string(3'900'000, 'o')});
  check_definition alias;
  alias.alias_service = "web";
  for (int i = 0; i < 512; ++i) {
    alias.id = alias.name = "a" + std::to_string(i);
    alias.notes = std::string(10'000, 'n'); // without a limit of its own
    alias.service_id = "web";
    d.ask(register_check{alias});
  }
  s.service.tags.emplace().push_back("one more");
  d.ask(register_service{s});
  std::size_t largest = 0, rounds = 0;
  for (; !d.agent.registry().in_sync() && rounds < 3; ++rounds)
    for (const auto& step : d.agent.registry().unsynced(d.now)) {
      std::size_t bytes = 0;
      for (const auto& c : std::get<state::catalog_register>(step.command).checks)
        bytes += state::shown_bytes(c); // more than encoded
      largest = std::max(largest, bytes);
      d.apply(step);
      d.agent.registry().settled(step, true);
    }
  CHECK(rounds == 2); // the service first
  CHECK(largest > 1 << 20);
  CHECK(largest < 4 << 20);
  CHECK(d.checks.size() == 1024);
}

TEST_CASE("changes during a write are written again; failed ones, too") {
  agent_driver d;
  auto& r = d.agent.registry();
  d.ask(register_check{ttl_check("c", 10s)});
  const auto first = r.unsynced(d.now);
  REQUIRE(first.size() == 1);
  CHECK(r.unsynced(d.now).empty()); // in flight
  d.ask(update_check{"c", "passing", ""});
  r.settled(first[0], true);
  CHECK_FALSE(r.check_in_sync("c"));
  const auto second = r.unsynced(d.now);
  REQUIRE(second.size() == 1);
  CHECK(std::get<state::catalog_register>(second[0].command).checks.at(0).status == "passing");
  r.settled(second[0], false);
  CHECK(r.unsynced(d.now).size() == 1);
}

TEST_CASE("a check that was removed and registered again during the removal stays") {
  agent_driver d;
  auto& r = d.agent.registry();
  d.ask(register_check{ttl_check("c", 10s)});
  d.sync();
  d.ask(deregister_check{"c"});
  const auto removal = r.unsynced(d.now);
  REQUIRE(removal.size() == 1);
  d.ask(register_check{ttl_check("c", 10s)});
  d.apply(removal[0]);
  r.settled(removal[0], true);
  CHECK(d.status_of("c") == "critical");
  d.sync();
  CHECK(d.checks.count("c") == 1);
  CHECK(r.in_sync());
}

TEST_CASE("the catalog follows the agent: missing rows return, foreign ones are removed") {
  agent_driver d;
  d.ask(register_service{service_named("web", {ttl_check("w", 10s)})});
  d.ask(register_check{ttl_check("c", 10s)});
  d.sync();
  d.checks.erase("c");
  d.services.at("web").port = 99;
  state::service_record foreign, server;
  foreign.id = foreign.service = "foreign";
  server.id = server.service = "consul";
  d.services["foreign"] = foreign;
  d.services["consul"] = server;
  state::check_record stray, liveness;
  stray.check_id = "stray";
  liveness.check_id = "serfHealth";
  d.checks["stray"] = stray;
  d.checks["serfHealth"] = liveness;
  d.compare();
  CHECK_FALSE(d.agent.registry().in_sync());
  d.sync();
  CHECK(d.services.at("web").port == 0);
  CHECK(d.services.count("foreign") == 0);
  CHECK(d.services.count("consul") == 1);
  CHECK(d.checks.count("stray") == 0);
  CHECK(d.checks.count("serfHealth") == 1);
  CHECK(d.checks.count("c") == 1);
  const auto writes = d.writes;
  d.compare(); // and then nothing more
  CHECK(d.agent.registry().in_sync());
  d.sync();
  CHECK(d.writes == writes);
}

TEST_CASE("tags of the catalog take precedence where the service allows it") {
  agent_driver d;
  auto s = service_named("web");
  s.service.tags = std::vector<std::string>{"mine"};
  s.service.enable_tag_override = true;
  d.ask(register_service{s});
  d.sync();
  d.services.at("web").tags = std::vector<std::string>{"theirs"};
  d.compare();
  CHECK(d.agent.registry().in_sync());
  CHECK(d.agent.registry().service("web")->row->tags == std::vector<std::string>{"theirs"});
}

TEST_CASE("output alone is written with a delay, a status at once and with the newest output") {
  agent_driver d;
  d.ask(register_check{ttl_check("c", 1h)});
  d.ask(update_check{"c", "passing", "1"});
  d.sync();
  const auto writes = d.writes;
  d.ask(update_check{"c", "passing", "2"});
  d.sync();
  CHECK(d.writes == writes);
  CHECK(d.output_of("c") == "2");
  d.compare(); // a known difference does not count
  CHECK(d.agent.registry().in_sync());
  d.now += 2min; // at the earliest after half of the interval
  d.sync();
  CHECK(d.writes == writes);
  d.now += 6min;
  d.sync();
  CHECK(d.writes == writes + 1);
  CHECK(d.checks.at("c").output == "2");
  d.ask(update_check{"c", "passing", "3"});
  d.ask(update_check{"c", "warning", "4"});
  d.sync();
  CHECK(d.checks.at("c").output == "4");
  CHECK(d.checks.at("c").status == "warning");
}

TEST_CASE("maintenance adds a critical check, once, and takes it away") {
  agent_driver d;
  d.ask(register_service{service_named("web")});
  CHECK(d.ask<refused>(service_maintenance{"nope", true, ""}).status == 404);
  d.ask(service_maintenance{"web", true, "upgrade"});
  d.ask(service_maintenance{"web", true, "something else"});
  const auto* c = d.agent.registry().check("_service_maintenance:web");
  REQUIRE(c != nullptr);
  CHECK(c->row->type == "maintenance");
  CHECK(c->row->notes == "upgrade");
  CHECK(d.ask<health_rows>(service_health{"web", true}).list.at(0).status == "maintenance");
  d.ask(service_maintenance{"web", false, ""});
  CHECK(d.status_of("_service_maintenance:web") == "(none)");
  d.ask(node_maintenance{true, ""});
  CHECK(d.agent.registry().check("_node_maintenance")->row->notes ==
        "Maintenance mode is enabled for this node, but no reason was provided. This is a default message.");
  CHECK(d.ask<health_rows>(service_health{"web", false}).list.at(0).status == "maintenance");
}

TEST_CASE("a reader with the newest hash of a service waits until the service changes") {
  agent_driver d;
  d.ask(register_service{service_named("web")});
  const auto first = d.ask<service_row>(read_service{"web", "", 1min});
  const read_service waits{"web", first.hash, 1min};
  CHECK_FALSE(d.agent.handle(waits, d.now));
  CHECK(d.agent.handle(waits, d.now, true)); // its deadline has passed
  CHECK(d.ask<service_row>(read_service{"web", "older", 1min}).hash == first.hash);
  auto other = service_named("web");
  other.service.port = 1;
  d.ask(register_service{other});
  CHECK(d.ask<service_row>(waits).hash != first.hash);
  CHECK(d.ask<refused>(read_service{"nope", first.hash, 1min}).text == "unknown service ID: nope");
}

TEST_CASE("registrations by the API are stored, those of the configuration are not") {
  agent_driver d;
  REQUIRE(d.agent.add_configured(service_named("conf"), d.now).ok());
  CHECK(d.agent.take_stored().empty());
  auto c = ttl_check("w", 10s);
  d.ask(register_service{service_named("web", {c})});
  d.ask(update_check{"w", "passing", "fine"});
  auto kept = d.agent.take_stored();
  REQUIRE(kept.size() == 3);
  CHECK(kept[0].durable);
  CHECK_FALSE(kept[2].durable);
  CHECK(std::get<stored_check>(kept[2].now).status == "passing");

  agent_driver next; // the process restarts
  CHECK(next.agent.restore(std::get<stored_service>(kept[0].now)));
  CHECK(next.agent.restore(std::get<stored_check>(kept[2].now), next.now));
  CHECK(next.status_of("w") == "passing");
  CHECK(next.output_of("w") == "fine");
  agent_driver later; // its TTL expired meanwhile
  auto old = std::get<stored_check>(kept[2].now);
  old.valid_ns = 0;
  CHECK_FALSE(later.agent.restore(old, later.now)); // its service is missing
  CHECK(later.agent.restore(std::get<stored_service>(kept[0].now)));
  CHECK(later.agent.restore(old, later.now));
  CHECK(later.status_of("w") == "critical");

  d.ask(deregister_service{"web"});
  kept = d.agent.take_stored();
  REQUIRE(kept.size() == 2);
  for (const auto& k : kept)
    CHECK(std::holds_alternative<std::monostate>(k.now));
}

TEST_CASE("the agent counts registrations") {
  agent_driver d;
  d.ask(register_service{service_named("web", {ttl_check("t", 10s), tcp_check("c", 10s)}), false});
  check_definition script;
  script.id = script.name = "s";
  script.args = {"/bin/true"};
  script.interval_ns = std::chrono::nanoseconds(10s).count();
  const auto refused_here = d.ask<refused>(register_check{script}); // scripts are disabled
  CHECK(refused_here.status == 500);
  const auto n = d.agent.counts();
  CHECK(n.services == 1);
  CHECK(n.checks == 2);
  CHECK(n.ttls == 1);
  CHECK(n.monitors == 0);
  d.ask(deregister_service{"web"});
  CHECK(d.agent.counts().services == 0);
  CHECK(d.agent.counts().checks == 0);
}

// Every minute or two the agent's rows are compared with the catalog's, on the HTTP thread.
TEST_CASE("many services on one node: missing rows of the catalog are found in one pass") {
  using belay::harness::least_cpu_time;
  const auto measured = [](int services) {
    agent_driver d;
    for (int i = 0; i < services; ++i) {
      const auto id = "web-" + std::to_string(i);
      state::service_record s;
      s.id = id;
      s.service = "web";
      d.agent.restore(stored_service{s});
      d.agent.restore(stored_check{ttl_check("service:" + id, 10s, id), "passing", "", 0}, d.now);
    }
    std::vector<sync_step> steps;
    const auto find = least_cpu_time([&] { steps = d.agent.registry().unsynced(d.now); }, 1);
    REQUIRE(steps.size() == static_cast<std::size_t>(services)); // each service with its check
    for (const auto& step : steps) {
      d.apply(step);
      d.agent.registry().settled(step, true);
    }
    const auto node = std::make_shared<const state::node_record>(usual_agent().registry.node);
    const auto known_services = d.agent.registry().services();
    const auto known_checks = d.agent.registry().checks();
    const auto compare = least_cpu_time([&] { d.agent.registry().compare(node, known_services, known_checks); });
    CHECK(d.agent.registry().in_sync());
    const auto health = least_cpu_time([&] {
      const auto rows = d.ask<health_rows>(service_health{"web", false}).list;
      REQUIRE(rows.size() == static_cast<std::size_t>(services));
      REQUIRE(rows.front().checks.size() == 1);
    });
    return std::array{find, compare, health};
  };
  // 80 times the services; the square of that is 6,400.
  CHECK(belay::harness::holds_once([&] {
    const auto few = measured(100), many = measured(8000);
    bool all = true;
    for (std::size_t i = 0; i < few.size(); ++i)
      all = all && many[i] < 1000 * few[i];
    return all;
  }));
}

// Every service is shown with all checks of the node: services times checks, in one text.
TEST_CASE("a response about health that would be too large is rejected before it is rendered") {
  agent_driver d;
  for (int i = 0; i < 600; ++i) {
    auto s = service_named("web");
    s.service.id = "w" + std::to_string(i);
    d.ask(register_service{s, false});
  }
  for (int i = 0; i < 800; ++i)
    d.ask(register_check{ttl_check("c" + std::to_string(i), 10s)});
  const auto no = d.ask<refused>(service_health{"web", false});
  CHECK(no.status == 500);
  CHECK(no.text.find("Answer too large: ") == 0);
  CHECK(d.ask<health_rows>(service_health{"w1", true}).list.at(0).checks.size() == 800);
  CHECK(d.ask<health_rows>(service_health{"other", false}).list.empty());
}

// A service is written on behalf of its own token: the agent's need not have the permission.
TEST_CASE("each service and check is written to the catalog, and removed, with its own token") {
  agent_driver d;
  auto& r = d.agent.registry();
  auto web = service_named("web", {ttl_check("as-web", 10s), ttl_check("other", 10s)});
  web.token = "t-web";
  web.checks[1].token = "t-other";
  d.ask(register_service{web});
  d.ask(register_service{service_named("plain", {ttl_check("p", 10s)})});
  const auto first = r.unsynced(d.now);
  REQUIRE(first.size() == 2);
  CHECK(first[0].token == ""); // plain
  CHECK(first[1].token == "t-web");
  REQUIRE(first[1].checks.size() == 1);
  CHECK(first[1].checks[0].first == "as-web");
  for (const auto& step : first) {
    d.apply(step);
    r.settled(step, true);
  }
  const auto second = r.unsynced(d.now); // its service exists now
  REQUIRE(second.size() == 1);
  CHECK(second[0].token == "t-other");
  d.apply(second[0]);
  r.settled(second[0], true);
  CHECK(r.in_sync());

  d.ask(deregister_check{"other"});
  const auto check_goes = r.unsynced(d.now);
  REQUIRE(check_goes.size() == 1);
  CHECK(check_goes[0].token == "t-other");
  r.settled(check_goes[0], true);
  d.ask(deregister_service{"web"});
  const auto service_goes = r.unsynced(d.now);
  REQUIRE(service_goes.size() == 1);
  CHECK(service_goes[0].token == "t-web");

  // It is restored from what the disk keeps.
  agent_driver later;
  stored_service kept;
  kept.service.id = kept.service.service = "web";
  kept.token = "t-web";
  REQUIRE(later.agent.restore(kept));
  CHECK(later.agent.registry().unsynced(later.now).front().token == "t-web");
}

TEST_CASE("a registration that the catalog rejected waits, and nothing else waits for it") {
  agent_driver d;
  auto& r = d.agent.registry();
  d.ask(register_service{service_named("web", {ttl_check("w", 10s)})});
  const auto refused_step = r.unsynced(d.now);
  REQUIRE(refused_step.size() == 1);
  r.settled(refused_step[0], false, d.now + 30s);
  d.ask(register_service{service_named("db")});
  auto steps = r.unsynced(d.now);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].services[0].first == "db");
  r.settled(steps[0], true);
  CHECK(r.unsynced(d.now + 29s).empty());
  CHECK(r.unsynced(d.now + 30s).size() == 1);
  r.settled(refused_step[0], false, d.now + 60s);
  d.ask(register_service{service_named("web")}); // perhaps with another token
  CHECK(r.unsynced(d.now).size() == 1);
}

TEST_CASE("a removed service is registered again with its new spelling, and is one row of the catalog", "[B4]") {
  agent_driver d;
  d.ask(register_service{service_named("web", {ttl_check("c", 10s)}), false});
  d.sync();
  d.ask(register_service{service_named("WEB", {ttl_check("C", 10s), ttl_check("c", 20s)}), false});
  CHECK(d.agent.registry().services().size() == 1);
  CHECK(d.agent.registry().services().front()->id == "web");
  CHECK(d.agent.registry().services().front()->service == "WEB");
  REQUIRE(d.agent.registry().checks().size() == 1);
  CHECK(d.agent.registry().checks().front()->check_id == "c");
  d.ask(deregister_service{"Web"});
  CHECK(d.agent.registry().services().empty());
  d.ask(register_service{service_named("WEB"), false}); // before the catalog has the removal
  REQUIRE(d.agent.registry().services().size() == 1);
  CHECK(d.agent.registry().services().front()->id == "WEB");
  d.sync();
  CHECK(d.agent.registry().in_sync());
}

TEST_CASE("rows of the catalog that differ from ours in the case of the ID only are ours", "[B4]") {
  agent_driver d;
  d.ask(register_service{service_named("web", {ttl_check("c", 10s)}), false});
  d.sync();
  auto service = d.services.extract("web");
  service.mapped().id = service.key() = "WEB";
  d.services.insert(std::move(service));
  auto check = d.checks.extract("c");
  check.mapped().check_id = check.key() = "C";
  d.checks.insert(std::move(check));
  for (const auto* id : {"SerfHealth", "serfHealth"})
    d.checks[id].check_id = id;
  for (const auto* id : {"consul", "Consul"})
    d.services[id].id = id;
  d.compare();
  CHECK(d.agent.registry().unsynced(d.now).empty());
}
