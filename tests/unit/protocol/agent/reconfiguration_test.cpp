// A reload adds the new definitions, removes the old ones, and keeps clients' registrations.

#include "tests/unit/protocol/agent/agent_driver.hpp"

using namespace belay::agent;
namespace state = belay::state;

namespace {

std::vector<std::string> services_of(const agent_driver& d) {
  std::vector<std::string> out;
  for (const auto& s : d.agent.registry().services())
    out.push_back(s->id + ":" + std::to_string(s->port));
  return out;
}

std::vector<std::string> checks_of(const agent_driver& d) {
  std::vector<std::string> out;
  for (const auto& c : d.agent.registry().checks())
    out.push_back(c->check_id);
  return out;
}

service_definition at_port(service_definition s, std::int64_t port) {
  s.service.port = port;
  return s;
}

using texts = std::vector<std::string>;

/// What the disk keeps of requests; nullopt: nothing has changed there.
std::optional<bool> kept(local_agent& agent, const item& what) {
  std::optional<bool> out;
  for (const auto& change : agent.take_stored())
    if (change.what == what)
      out = !std::holds_alternative<std::monostate>(change.now);
  return out;
}

} // namespace

TEST_CASE("definitions are added, changed and removed with the configuration; those of clients stay") {
  agent_driver d;
  REQUIRE(d.agent.add_configured(at_port(service_named("web", {ttl_check("w", 10s)}), 80), d.now).ok());
  REQUIRE(d.agent.add_configured(at_port(service_named("old"), 1), d.now).ok());
  REQUIRE(d.agent.add_configured(ttl_check("disk", 10s), d.now).ok());
  d.ask(register_service{at_port(service_named("mine", {ttl_check("m", 10s)}), 7)});
  d.ask(register_check{ttl_check("own", 10s)});
  d.ask(register_check{ttl_check("more", 10s, "web")});
  d.ask(update_check{"w", "passing", "well"});
  d.sync();
  CHECK(d.services.size() == 3);

  REQUIRE(
      d.agent
          .reconfigure({{at_port(service_named("web", {ttl_check("w", 10s)}), 81), at_port(service_named("new"), 2)},
                        {ttl_check("memory", 10s), ttl_check("of mine", 10s, "mine")},
                        state::string_map{{"rack", "8"}}},
                       d.now)
          .ok());
  CHECK(services_of(d) == texts{"mine:7", "new:2", "web:81"});
  CHECK(checks_of(d) == texts{"m", "memory", "more", "of mine", "own", "w"});
  CHECK(d.status_of("w") == "passing");
  CHECK(d.output_of("w") == "well");
  d.sync();
  CHECK(d.services.size() == 3);
  CHECK(d.services.at("web").port == 81);
  CHECK(d.checks.size() == 6);
  CHECK(d.agent.registry().in_sync());

  REQUIRE(d.agent.reconfigure({}, d.now).ok());
  CHECK(services_of(d) == texts{"mine:7"});
  CHECK(checks_of(d) == texts{"m", "own"});
}

// A check that restarted with every reload would never expire.
TEST_CASE("unchanged definitions of a configuration continue") {
  agent_driver d;
  const configured_definitions response{{service_named("web", {ttl_check("w", 10s)})}, {ttl_check("disk", 10s)}, {}};
  REQUIRE(d.agent.reconfigure(response, d.now).ok());
  d.ask(update_check{"w", "passing", ""});
  d.ask(update_check{"disk", "passing", ""});
  d.sync();
  const auto writes = d.writes;
  for (int i = 0; i < 3; ++i) {
    d.now += 4s;
    (void)d.agent.tick(d.now);
    d.sync();
    REQUIRE(d.agent.reconfigure(response, d.now).ok());
    CHECK(d.status_of("w") == (i < 2 ? "passing" : "critical"));
    CHECK(d.status_of("disk") == (i < 2 ? "passing" : "critical"));
  }
  CHECK(d.writes == writes + 2);
}

TEST_CASE("the configuration takes precedence over a client's registration with the same ID, as at a start") {
  agent_driver d;
  d.ask(register_service{at_port(service_named("web", {ttl_check("w", 10s)}), 1)});
  d.ask(register_check{ttl_check("disk", 10s)});
  d.agent.take_stored();
  const configured_definitions response{
      {at_port(service_named("web", {ttl_check("w", 20s)}), 2)}, {ttl_check("disk", 20s)}, {}};
  REQUIRE(d.agent.reconfigure(response, d.now).ok());
  CHECK(services_of(d) == texts{"web:2"});
  CHECK(d.agent.registry().check("w")->definition.ttl_ns == std::chrono::nanoseconds(20s).count());
  std::map<item, bool> stored;
  for (const auto& change : d.agent.take_stored())
    stored[change.what] = !std::holds_alternative<std::monostate>(change.now);
  CHECK(stored == std::map<item, bool>{{{false, "disk"}, false}, {{false, "w"}, false}, {{true, "web"}, false}});
  // A client's registration is in force until the next reload.
  d.ask(register_service{at_port(service_named("web"), 3)});
  CHECK(kept(d.agent, {true, "web"}) == true);
  REQUIRE(d.agent.reconfigure(response, d.now).ok());
  CHECK(services_of(d) == texts{"web:2"});
  CHECK(kept(d.agent, {true, "web"}) == false);
}

TEST_CASE("a service that a client took over from the configuration stays when the configuration gives it up") {
  agent_driver d;
  REQUIRE(d.agent.add_configured(at_port(service_named("web"), 1), d.now).ok());
  d.ask(register_service{at_port(service_named("web"), 2)});
  REQUIRE(d.agent.reconfigure({}, d.now).ok());
  CHECK(services_of(d) == texts{"web:2"});
}

TEST_CASE("if one definition is invalid, none changes") {
  check_definition script;
  script.id = script.name = "s";
  script.interval_ns = std::chrono::nanoseconds(10s).count();
  script.args = {"/bin/true"};
  struct row {
    configured_definitions response;
    const char* complaint;
  };
  const row rows[] = {
      {{{service_named("new"), service_named("")}, {}, {}}, "service \"\": Missing service name"},
      {{{service_named("new", {script})}, {}, {}},
       "service \"new\": Scripts are disabled on this agent; to enable, "
       "configure 'enable_script_checks' or 'enable_local_script_checks' to "
       "true"},
      {{{service_named("new")}, {script}, {}},
       "check \"s\": Scripts are disabled on this agent; to enable, configure "
       "'enable_script_checks' or 'enable_local_script_checks' to true"},
      {{{service_named("new")}, {ttl_check("c", 0s)}, {}}, "check \"c\": TTL must be > 0 for TTL checks"},
      {{{service_named("new")}, {ttl_check("c", 1s, "none")}, {}}, "check \"c\": ServiceID \"none\" does not exist"},
      // It depends on the new configuration.
      {{{service_named("new")}, {ttl_check("c", 1s, "web")}, {}}, "check \"c\": ServiceID \"web\" does not exist"},
  };
  for (const auto& r : rows) {
    agent_driver d;
    REQUIRE(d.agent.add_configured(service_named("web", {ttl_check("w", 10s)}), d.now).ok());
    d.sync();
    const auto writes = d.writes;
    auto response = r.response;
    response.node_meta = state::string_map{{"rack", "9"}};
    const auto s = d.agent.reconfigure(response, d.now);
    REQUIRE_FALSE(s.ok());
    CHECK(s.error() == r.complaint);
    CHECK(services_of(d) == texts{"web:0"});
    CHECK(checks_of(d) == texts{"w"});
    d.sync();
    CHECK(d.writes == writes);
  }
}

TEST_CASE("a check can move from one service to another, and to none") {
  agent_driver d;
  REQUIRE(d.agent.reconfigure({{service_named("a", {ttl_check("c", 10s)}), service_named("b")}, {}, {}}, d.now).ok());
  REQUIRE(d.agent.reconfigure({{service_named("b", {ttl_check("c", 10s)})}, {}, {}}, d.now).ok());
  CHECK(d.agent.registry().check("c")->row->service_id == "b");
  REQUIRE(d.agent.reconfigure({{service_named("b")}, {ttl_check("c", 10s)}, {}}, d.now).ok());
  CHECK(d.agent.registry().check("c")->row->service_id.empty());
  d.sync();
  CHECK(d.checks.at("c").service_id.empty());
  CHECK(d.services.size() == 1);
}

TEST_CASE("metadata of the node that change are written once") {
  agent_driver d;
  d.sync();
  REQUIRE(d.agent.reconfigure({{}, {}, usual_agent().registry.node.meta}, d.now).ok());
  CHECK(d.agent.registry().unsynced(d.now).empty());
  REQUIRE(d.agent.reconfigure({{}, {}, state::string_map{{"rack", "8"}}}, d.now).ok());
  const auto steps = d.agent.registry().unsynced(d.now);
  REQUIRE(steps.size() == 1);
  const auto& r = std::get<state::catalog_register>(steps[0].command);
  CHECK_FALSE(r.skip_node_update);
  CHECK(r.node.meta == state::string_map{{"rack", "8"}});
  d.agent.registry().settled(steps[0], true);
  CHECK(d.agent.registry().in_sync());
}
