#include "protocol/agent/agent_permissions.hpp"
#include "tests/unit/protocol/agent/agent_driver.hpp"

using namespace belay::agent;
namespace acl = belay::acl;

namespace {

/// Default deny.
acl::authorizer with(const std::string& rules) {
  const auto read = acl::read_rules(rules);
  REQUIRE(read.ok());
  const acl::rules* const all[] = {&*read};
  return acl::authorizer(all, acl::default_policy::deny);
}

/// An agent with the services web and db, a check of each, and one of the node.
struct furnished : agent_driver {
  furnished() {
    ask(register_service{service_named("web", {ttl_check("web-ttl", 10s)}), false});
    ask(register_service{service_named("db", {ttl_check("db-ttl", 10s)}), false});
    ask(register_check{ttl_check("disk", 10s)});
  }
  reply reply_to(const request& r, const std::string& rules) {
    const auto may = with(rules);
    auto answer = agent.handle(r, now, false, &may);
    REQUIRE(answer);
    return *answer;
  }
  std::string refusal(const request& r, const std::string& rules) {
    const auto answer = reply_to(r, rules);
    const auto* no = std::get_if<refused>(&answer);
    return no == nullptr ? "" : std::to_string(no->status) + " " + no->text;
  }
};

std::vector<std::string> names(const service_rows& found) {
  std::vector<std::string> out;
  for (const auto& s : found.list)
    out.push_back(s->service);
  return out;
}
std::vector<std::string> names(const check_rows& found) {
  std::vector<std::string> out;
  for (const auto& c : found.list)
    out.push_back(c->check_id);
  return out;
}
using texts = std::vector<std::string>;

service_definition service_with_id(std::string id, std::string name) {
  auto d = service_named(std::move(name));
  d.service.id = std::move(id);
  return d;
}

const std::string web_write = R"(service "web" { policy = "write" })";
const std::string node_write = R"(node "n1" { policy = "write" })";

} // namespace

TEST_CASE("writes to the agent need service:write for the old and the new service, or node:write") {
  struct row {
    const char* what;
    request requested;
    std::string allows, misses;
  };
  auto second_name = service_with_id("web", "other");
  auto of_web = ttl_check("new", 10s, "web");
  auto takes_over = ttl_check("db-ttl", 10s, "web");
  auto service_takes_over = service_named("web", {ttl_check("db-ttl", 10s)});
  const std::string both = web_write + "\n" + R"(service "db" { policy = "write" })";
  const std::string web_and_other = web_write + "\n" + R"(service "other" { policy = "write" })";
  const std::string web = "403 Permission denied: Missing service:write on web";
  const std::string node = "403 Permission denied: Missing node:write on n1";
  const auto r = GENERATE_COPY(
      row{"a service", register_service{service_named("web"), false}, web_write, web},
      row{"a service in the place of one with another name", register_service{second_name, false}, web_and_other,
          "403 Permission denied: Missing service:write on other"},
      row{"a service whose check has the ID of another one's", register_service{service_takes_over, false}, both, web},
      row{"its end", deregister_service{"web"}, web_write, web},
      row{"its maintenance", service_maintenance{"web", true, ""}, web_write, web},
      row{"the node's maintenance", node_maintenance{true, ""}, node_write, "403 Permission denied"},
      row{"a check of a service", register_check{of_web}, web_write, web},
      row{"a check with the ID of another service's", register_check{takes_over}, both, web},
      row{"a check of the node", register_check{ttl_check("new", 10s)}, node_write, node},
      row{"the end of a service's check", deregister_check{"web-ttl"}, web_write, web},
      row{"the end of a node's check", deregister_check{"disk"}, node_write, node},
      row{"a result of a service's check", update_check{"web-ttl", "passing", ""}, web_write, web},
      row{"a result of a node's check", update_check{"disk", "passing", ""}, node_write, node});
  INFO(r.what);
  CHECK(furnished().refusal(r.requested, "") == r.misses);
  CHECK(furnished().refusal(r.requested,
                            R"(service_prefix "" { policy = "read" } node_prefix "" { policy = "read" })") == r.misses);
  CHECK(furnished().refusal(r.requested, r.allows) == "");
}

TEST_CASE("a replaced registration must be writable, too") {
  furnished d;
  const auto second = register_service{service_with_id("web", "other"), false};
  CHECK(d.refusal(second, R"(service "other" { policy = "write" })") ==
        "403 Permission denied: Missing service:write on web");
  CHECK(d.refusal(register_check{ttl_check("db-ttl", 10s, "web")}, web_write) ==
        "403 Permission denied: Missing service:write on db");
  CHECK(d.refusal(register_service{service_named("web", {ttl_check("disk", 10s)}), false}, web_write) ==
        "403 Permission denied: Missing node:write on n1");
  // Nothing was done.
  CHECK(d.agent.registry().service("web")->row->service == "web");
  CHECK(d.agent.registry().check("db-ttl")->row->service_name == "db");
  CHECK(d.agent.registry().check("disk")->row->service_name.empty());
}

TEST_CASE("missing resources are reported with ACLs enabled, to every token") {
  furnished d;
  CHECK(d.refusal(deregister_service{"x"}, "") == "500 Unknown service {\"x\" {}}");
  CHECK(d.refusal(service_maintenance{"x", true, ""}, "") == "500 Unknown service {\"x\" {}}");
  CHECK(d.refusal(deregister_check{"x"}, "") == "500 Unknown check \"x\"");
  CHECK(d.refusal(update_check{"x", "passing", ""}, "") == "500 Unknown check \"x\"");
  CHECK(d.refusal(read_service{"x", "", 0s}, "") == "404 unknown service ID: x");
  // A check of a missing service needs permission for the node.
  CHECK(d.refusal(register_check{ttl_check("c", 10s, "x")}, "") == "403 Permission denied: Missing node:write on n1");
}

TEST_CASE("listings of the agent leave out what the token must not read") {
  furnished d;
  const std::string web_read = R"(service "web" { policy = "read" })";
  CHECK(names(std::get<service_rows>(d.reply_to(list_services{}, ""))).empty());
  CHECK(names(std::get<service_rows>(d.reply_to(list_services{}, web_read))) == texts{"web"});
  CHECK(names(std::get<check_rows>(d.reply_to(list_checks{}, ""))).empty());
  CHECK(names(std::get<check_rows>(d.reply_to(list_checks{}, web_read))) == texts{"web-ttl"});
  CHECK(names(std::get<check_rows>(d.reply_to(list_checks{}, R"(node "n1" { policy = "read" })"))) == texts{"disk"});
  CHECK(d.refusal(read_service{"web", "", 0s}, "") == "403 Permission denied");
  CHECK(d.refusal(read_service{"web", "", 0s}, web_read) == "");
  for (const bool by_id : {false, true}) {
    CHECK(d.refusal(service_health{"web", by_id}, "") == "403 Permission denied");
    CHECK(d.refusal(service_health{"web", by_id}, web_read) == "");
  }
  CHECK(d.refusal(service_health{"x", false}, "") == "403 Permission denied"); // does not reveal whether there is one
}

TEST_CASE("a service that may not be read is not waited for") {
  furnished d;
  const auto hash = content_hash(*d.agent.registry().service("web")->row);
  CHECK(d.refusal(read_service{"web", hash, 60s}, "") == "403 Permission denied");
  const auto may = with(R"(service "web" { policy = "read" })");
  CHECK_FALSE(d.agent.handle(read_service{"web", hash, 60s}, d.now, false, &may));
}

TEST_CASE("events are fired with the permission to write, and seen with the permission to read") {
  furnished d;
  user_event e;
  e.id = "11111111-2222-4333-8444-555555555555";
  e.name = "deploy";
  CHECK(d.refusal(fire_event{e}, R"(event "deploy" { policy = "read" })") == "403 Permission denied");
  CHECK(d.agent.take_fired().empty());
  CHECK(d.refusal(fire_event{e}, R"(event "deploy" { policy = "write" })") == "");
  auto hidden = e;
  hidden.id = "11111111-2222-4333-8444-555555555556";
  hidden.name = "secret";
  d.ask<event_fired>(fire_event{hidden});

  const std::string reads = R"(event "deploy" { policy = "read" })";
  const auto seen = std::get<event_rows>(d.reply_to(list_events{"", 0, 0s}, reads)).events;
  REQUIRE(seen.list.size() == 1);
  CHECK(seen.list[0].name == "deploy");
  CHECK(seen.index == index_of(e.id)); // a query with this index is not woken by events that it may not see
  const auto may = with(reads);
  CHECK_FALSE(d.agent.handle(list_events{"", seen.index, 60s}, d.now, false, &may));
  CHECK(std::get<event_rows>(d.reply_to(list_events{"", 0, 0s}, "")).events.index == 1);
}

// An alias shows another check's status: it must not bypass the permission to read it.
TEST_CASE("an alias of another node needs permission to read there") {
  furnished a;
  check_definition d;
  d.name = d.id = "alias";
  d.service_id = "web";
  d.alias_node = "other";
  CHECK(a.refusal(register_check{d}, web_write) == "403 Permission denied: Missing node:read on other");
  const std::string other_read = R"(node "other" { policy = "read" })";
  CHECK(a.refusal(register_check{d}, web_write + other_read) == "");
  d.alias_service = "db";
  CHECK(a.refusal(register_check{d}, web_write + other_read) == "403 Permission denied: Missing service:read on db");
  auto s = service_named("web", {d});
  s.checks.front().service_id.clear();
  CHECK(a.refusal(register_service{s, false}, web_write + other_read) ==
        "403 Permission denied: Missing service:read on db");
  const std::string db_read = R"(service "db" { policy = "read" })";
  CHECK(a.refusal(register_check{d}, web_write + other_read + db_read) == "");
}

// A service's token could read the output of all checks of its node. Consul requires nothing here.
TEST_CASE("an alias of this node needs permission to read it and the aliased service") {
  furnished a;
  a.ask(register_service{service_with_id("db-2", "db"), false});
  check_definition d;
  d.name = d.id = "alias";
  d.service_id = "web";
  d.alias_service = GENERATE("db", "DB-2");
  d.alias_node = GENERATE("", "N1");
  const std::string node_read = R"(node "n1" { policy = "read" })";
  const std::string db_read = R"(service "db" { policy = "read" })";
  auto s = service_named("web", {d});
  s.checks.front().service_id.clear();
  for (const auto& r : {request(register_check{d}), request(register_service{s, false})}) {
    CHECK(a.refusal(r, web_write + db_read) == "403 Permission denied: Missing node:read on n1");
    CHECK(a.refusal(r, web_write + node_read) == "403 Permission denied: Missing service:read on db");
    CHECK(a.agent.registry().check("alias") == nullptr);
  }
  for (const auto& r : {request(register_check{d}), request(register_service{s, false})})
    CHECK(a.refusal(r, web_write + node_read + db_read) == "");
}

TEST_CASE("an alias of a service that is not registered is permitted by its ID, one of its own service by the write") {
  furnished a;
  check_definition d;
  d.name = d.id = "alias";
  d.alias_service = "later";
  const std::string node_read = R"(node "n1" { policy = "read" })";
  auto s = service_with_id("later", "web");
  s.checks = {d};
  CHECK(a.refusal(register_service{s, false}, web_write + node_read) == "");
  d.alias_service = "never";
  d.service_id = "web";
  CHECK(a.refusal(register_check{d}, web_write + node_read) == "403 Permission denied: Missing service:read on never");
}

// The catalog ignores the case of IDs, so a service's token could overwrite all others.
TEST_CASE("an ID in another case is the same ID, for every request that names one", "[B4]") {
  const auto r =
      GENERATE(as<request>{}, register_service{service_with_id("DB", "web"), false},
               register_service{service_named("web", {ttl_check("DB-TTL", 10s)}), false},
               register_service{service_named("web", {ttl_check("Disk", 10s)}), false}, deregister_service{"DB"},
               service_maintenance{"Db", true, ""}, register_check{ttl_check("DB-ttl", 10s, "web")},
               register_check{ttl_check("x", 10s, "DB")}, register_check{ttl_check("DISK", 10s, "web")},
               deregister_check{"DB-TTL"}, deregister_check{"DISK"}, update_check{"DB-TTL", "passing", ""});
  furnished d;
  d.sync();
  const auto services = d.services.size(), checks = d.checks.size();
  CHECK(d.refusal(r, web_write).substr(0, 25) == "403 Permission denied: Mi");
  d.sync();
  CHECK(d.services.size() == services);
  CHECK(d.checks.size() == checks);
  // With permission the request applies to the existing one.
  CHECK(d.refusal(r, R"(service_prefix "" { policy = "write" } node_prefix "" { policy = "write" })") == "");
  CHECK(d.agent.registry().services().size() <= 2);
  CHECK(d.agent.registry().checks().size() <= 4);
}

// The check serfHealth ends all sessions of its node; the service consul belongs to the server.
TEST_CASE("IDs that belong to the agent or to the leader cannot be registered, in any case", "[B4]") {
  auto settings = usual_agent();
  settings.server = true;
  const auto all = with(R"(service_prefix "" { policy = "write" } node_prefix "" { policy = "write" })");
  for (const auto* id : {"serfHealth", "SERFHEALTH", "_node_maintenance", "_Node_Maintenance",
                         "_service_maintenance:db", "_SERVICE_maintenance:"}) {
    INFO(id);
    furnished d;
    const auto wanted = "400 CheckID \"" + std::string(id) + "\" is reserved";
    for (const auto& r :
         {request(register_check{ttl_check(id, 10s, "web")}), request(register_check{ttl_check(id, 10s)}),
          request(register_service{service_named("web", {ttl_check(id, 10s)}), false})}) {
      const auto answer = d.agent.handle(r, d.now, false, &all);
      REQUIRE(answer);
      const auto* no = std::get_if<refused>(&*answer);
      REQUIRE(no != nullptr);
      CHECK(std::to_string(no->status) + " " + no->text == wanted);
    }
    CHECK_FALSE(d.agent.add_configured(ttl_check(id, 10s), d.now).ok());
    CHECK_FALSE(d.agent.restore(stored_check{ttl_check(id, 10s), "passing", "", 0}, d.now));
    CHECK_FALSE(d.agent.reconfigure({{}, {ttl_check(id, 10s)}, std::nullopt}, d.now).ok());
    CHECK(d.agent.registry().checks().size() == 3);
  }
  for (const bool server : {true, false}) {
    settings.server = server;
    local_agent a(settings);
    for (const auto* id : {"consul", "Consul"}) {
      const auto answer = a.handle(register_service{service_with_id(id, "web"), false}, 1h);
      REQUIRE(answer);
      CHECK(std::holds_alternative<refused>(*answer) == server);
      CHECK(a.add_configured(service_with_id(id, "web"), 1h).ok() != server);
    }
  }
}

// Maintenance is the agent's own use of these IDs.
TEST_CASE("maintenance of a service named in another case is that of the service") {
  furnished d;
  d.ask(service_maintenance{"DB", true, "why"});
  CHECK(d.agent.registry().check("_service_maintenance:db") != nullptr);
  CHECK(d.agent.registry().check("_service_maintenance:db")->row->service_id == "db");
  d.ask(service_maintenance{"dB", false, ""});
  CHECK(d.agent.registry().check("_service_maintenance:db") == nullptr);
}
