// What a gateway does about ACLs: which permission it asks for before it passes a request on, and what it passes on.

#include "protocol/agent/agent_permissions.hpp"
#include "protocol/base/secrets.hpp"
#include "protocol/base/uuid.hpp"
#include "protocol/http/routes.hpp"
#include "protocol/wire/command_codec.hpp"
#include "tests/actors/gateway/http_gateway_fixture.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <set>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using namespace std::chrono_literals;

namespace {

const std::string root = "root-secret", emergency = "emergency-secret";

/// Secrets are UUIDs, but for those of the configuration; here tokens have names.
std::string secret_of(const std::string& name) {
  const bool as_it_is = name.empty() || name == root || name == emergency || name == "wrong" || name == "nobody's";
  return as_it_is ? name : uuid_of(std::hash<std::string>()(name), 42);
}

using rules_by_name = std::map<std::string, std::string>;

/// Tables with a token for each of these rules; the name of the rules is the secret.
struct tables {
  state::machine machine;
  std::uint64_t index = 0;

  explicit tables(const rules_by_name& tokens) {
    apply(state::acl_initialize{root, uuid_of(1, 1), 1});
    for (const auto& [name, rules] : tokens)
      add(secret_of(name), rules);
  }
  void apply(const state::command& c) {
    state::effects changed;
    ++index;
    const auto reply = machine.apply(log_index{index}, cluster_time{1000 + index}, c, changed);
    const auto* no = std::get_if<state::refusal>(&reply);
    INFO((no == nullptr ? std::string() : no->text));
    REQUIRE(no == nullptr);
  }
  void add(const std::string& secret, const std::string& rules) {
    state::acl_policy_set p;
    p.policy.id = uuid_of(2, index);
    p.policy.name = "p" + std::to_string(index);
    p.policy.rules = rules;
    p.fresh = true;
    state::acl_token_set t;
    t.token.accessor = uuid_of(3, index);
    t.token.secret = secret;
    t.policies = {{p.policy.id, ""}};
    t.fresh = true;
    apply(p);
    apply(t);
  }
  /// A policy and a token with these IDs.
  void add_ids(const std::string& id) {
    state::acl_policy_set p;
    p.policy.id = p.policy.name = id;
    p.fresh = true;
    state::acl_token_set t;
    t.token.accessor = id;
    t.token.secret = uuid_of(4, index);
    t.fresh = true;
    apply(p);
    apply(t);
  }
  void remove(const std::string& name) {
    state::query q = state::acl_token_self{};
    q.by = state::authority{secret_of(name), false, "dc1"};
    const auto found = machine.evaluate(q);
    const auto& row = std::get<state::acl_rows>(found.data).list.at(0).row;
    apply(state::acl_token_delete{std::get<state::acl_token_ptr>(row)->accessor});
  }
};

gateway_settings with_acls() {
  gateway_settings s;
  s.routes.node_name = "n1";
  s.facts.node_name = "n1";
  s.facts.acl_enabled = true;
  s.routes.acl_enabled = true;
  s.routes.acl_allowed_by_default = false;
  agent_token_values tokens;
  tokens.agent_master = emergency;
  s.tokens = std::make_shared<agent_tokens>(tokens);
  return s;
}

/// Permissions are those of the tables; other questions are answered as to somebody who may do everything.
void judge_by(gateway_fixture& f, tables& t) {
  f.behind().answer = [&t](const state::query& q) {
    if (std::holds_alternative<state::permissions_read>(q))
      return t.machine.evaluate(q);
    auto everything = q;
    everything.by = state::authority{root, false, "dc1"};
    return t.machine.evaluate(everything);
  };
}

std::string request(const std::string& method, const std::string& target, const std::string& token,
                    const std::string& body = "") {
  return method + " " + target + " HTTP/1.1\r\nHost: x\r\n" +
         (token.empty() ? "" : "X-Consul-Token: " + secret_of(token) + "\r\n") +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

status_result cluster_of_two() {
  status_result s;
  const raft::member m{node_id{1}, "11111111-2222-3333-4444-555555555555", "n1", "127.0.0.1:8300"};
  const raft::member other{node_id{2}, "11111111-2222-3333-4444-555555555556", "n2", "127.0.0.2:8300"};
  s.view.config.members = {m, other};
  s.view.config.voters = {m.id};
  s.view.self = m.id;
  s.view.soft.leader = m.id;
  s.view.soft.role = raft::role::leader;
  s.view.serving = true;
  s.peers = {{m, true, false, true, {}}, {other, true, false, true, {}}};
  return s;
}

// ---- the matrix

/// Tokens by what they may do; each has one permission.
const std::map<std::string, std::string> tokens_with_one = {
    {"nothing", ""},
    {"key-write", R"(key_prefix "" { policy = "write" })"},
    {"session-write", R"(session_prefix "" { policy = "write" })"},
    {"service-write", R"(service_prefix "" { policy = "write" })"},
    {"event-write", R"(event_prefix "" { policy = "write" })"},
    {"node-read", R"(node_prefix "" { policy = "read" })"},
    {"node-write", R"(node_prefix "" { policy = "write" })"},
    {"agent-read", R"(agent_prefix "" { policy = "read" })"},
    {"agent-write", R"(agent_prefix "" { policy = "write" })"},
    {"operator-read", R"(operator = "read")"},
    {"operator-write", R"(operator = "write")"},
    {"keyring-read", R"(keyring = "read")"},
    {"keyring-write", R"(keyring = "write")"},
    {"acl-read", R"(acl = "read")"},
    {"acl-write", R"(acl = "write")"},
};

/// Of those above, who gets past the gateway.
bool passes(http::access needs, const std::string& token) {
  using enum http::access;
  static const std::map<http::access, std::set<std::string>> sufficient = {
      {agent_read, {"agent-read", "agent-write"}},
      {agent_write, {"agent-write"}},
      {node_write, {"node-write"}},
      {coordinate_write, {"node-write"}},
      {operator_read, {"operator-read", "operator-write"}},
      {operator_write, {"operator-write"}},
      {keyring_read, {"keyring-read", "keyring-write"}},
      {keyring_write, {"keyring-write"}},
      {acl_read, {"acl-read", "acl-write"}},
      {acl_write, {"acl-write"}},
  };
  const auto found = sufficient.find(needs);
  return found == sufficient.end() || found->second.count(token) != 0 || token == root;
}

const std::string some_id = "aaaaaaaa-2222-4333-8444-555555555555";

/// Where an empty body, or an id at the end of the path, is none that the route can read.
std::string body_of(const std::string& route, const std::string& method) {
  static const std::map<std::string, std::string> bodies = {
      {"txn", R"([{"KV":{"Verb":"get","Key":"a"}}])"},
      {"session_create", R"({"Node":"n1"})"},
      {"catalog_register", R"({"Node":"n1","Address":"10.0.0.1"})"},
      {"catalog_deregister", R"({"Node":"n1"})"},
      {"agent_service_register", R"({"Name":"web"})"},
      {"agent_check_register", R"({"Name":"c","TTL":"10s"})"},
      {"agent_check_update", R"({"Status":"passing"})"},
      {"autopilot_configuration", R"({"CleanupDeadServers":false})"},
      {"coordinate_update", R"({"Node":"n1","Coord":{"Vec":[0,0,0,0,0,0,0,0]}})"},
      {"keyring", R"({"Key":"pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s="})"},
      {"acl_policy", R"({"Name":"p"})"},
      {"acl_role", R"({"Name":"r","Policies":[{"Name":"p"}]})"},
      {"acl_token", R"({"Description":"t"})"},
      {"acl_translate", R"(key "" { policy = "read" })"},
      {"acl_authorize", R"([{"Resource":"key","Segment":"a","Access":"read"}])"},
      {"agent_token", R"({"Token":"x"})"},
  };
  const auto found = bodies.find(route);
  const bool brings_none = method == "GET" || (method == "DELETE" && route != "keyring");
  return brings_none || found == bodies.end() ? "" : found->second;
}

std::string target_of(const http::route& r, const std::string& method) {
  std::string target(r.pattern);
  if (r.name == "agent_token")
    return target + "replication";
  if (r.name == "health_state")
    return target + "passing";
  if (target.back() == '/')
    target += some_id;
  if (r.name == "agent_maintenance" || r.name == "agent_service_maintenance")
    target += "?enable=true";
  if (r.name == "raft_peer")
    target += method == "DELETE" ? "?address=10.0.0.9:8300" : "?address=10.0.0.9:8300";
  return target;
}

} // namespace

// The table of routes says what each route needs. A route that is passed on without being asked for would be open to everybody.
TEST_CASE("every route with every permission: who lacks what the table says gets 403", "[gateway][acl]") {
  tables t(tokens_with_one);
  t.add_ids(some_id); // what is not there is answered with 403, too
  gateway_fixture f(with_acls(), nullptr, true);
  judge_by(f, t);
  f.behind().status = cluster_of_two();
  f.behind().agent = [](const agent_call& c) -> std::optional<agent::reply> {
    if (c.may == nullptr) // a request that nobody has judged
      return agent::refused{599, "not judged"};
    return agent::accepted{};
  };
  auto c = f.client();
  std::size_t asked = 0;
  for (const auto& route : http::all_routes())
    for (const auto method_view : http::method_names_of(route)) {
      const std::string method(method_view);
      const auto needs = route.needs(http::method_bit(method));
      const auto target = target_of(route, method);
      const auto body = body_of(std::string(route.name), method);
      auto settings = with_acls().routes;
      const auto parsed = http::parse({method, target, {}, body, "127.0.0.1", 1}, settings, [] { return some_id; });
      INFO(method << " " << target);
      if (route.name == "agent_alive" || route.name == "acl_rules") { // on connections of client agents only
        CHECK(c.ask(request(method, target, "acl-write", body)).status == 403);
        continue;
      }
      // A request that is no good is answered before anybody is asked: it would prove nothing here.
      if (route.name == "acl_replication" || route.name == "catalog_datacenters")
        CHECK(needs == http::access::nobody);
      else
        REQUIRE_FALSE(std::holds_alternative<http::response>(parsed.action));

      // Both are questions about permissions.
      const bool asked_here = route.name == "session_renew" || route.name == "acl_authorize";
      const bool by_state = needs == http::access::by_state && !asked_here;
      const auto status = [&](const std::string& token) {
        ++asked;
        return c.ask(request(method, target, token, body)).status;
      };
      for (const auto* bad : {"", "wrong"}) {
        INFO("token '" << bad << "'");
        const bool unknown = *bad != '\0';
        const bool anonymous_passes = needs == http::access::by_agent || needs == http::access::members ||
                                      asked_here; // and the session is unknown
        const bool open = needs == http::access::nobody || by_state || (!unknown && anonymous_passes);
        CHECK((status(bad) == 403) == !open);
      }
      for (const auto& [token, rules] : tokens_with_one) {
        INFO("token '" << token << "'");
        const bool allowed = passes(needs, token);
        if (allowed && (route.name == "snapshot" || route.name == "agent_monitor" || route.name == "agent_host"))
          continue; // nobody is there to make one; it has no end; it is told by another thread
        const auto got = status(token);
        CHECK((got != 403) == allowed);
        CHECK(got != 599);
        CHECK(got != 0);
      }
      // The gateway itself looks for client agents, and leaves out of the list who is not to be seen.
      if (route.name == "agent_members" || route.name == "agent_force_leave") {
        std::lock_guard lock(f.behind().mutex);
        std::erase_if(f.behind().reads, [](const read_query& r) {
          const auto& q = r.request.query;
          return !q.by &&
                 (std::holds_alternative<state::catalog_nodes>(q) || std::holds_alternative<state::health_state>(q));
        });
      }
    }
  CHECK(asked > 1000);

  // What the state machine decides carries the token there.
  std::lock_guard lock(f.behind().mutex);
  for (const auto& r : f.behind().reads)
    if (!std::holds_alternative<state::autopilot_get>(r.request.query) && !r.archive)
      CHECK(r.request.query.by);
  for (const auto& w : f.behind().checked)
    CHECK((w.command.by || std::holds_alternative<state::acl_bootstrap>(w.command)));
}

// Old clients ask it, to see whether ACLs are on and their token may manage them (docs/contract/10, section 5.5).
TEST_CASE("the list of before Consul 1.4, on the wire", "[gateway][acl]") {
  tables t(tokens_with_one);
  gateway_fixture f(with_acls(), nullptr, true);
  f.behind().answer = [&t](const state::query& q) { return t.machine.evaluate(q, cluster_time{1}); };
  auto c = f.client();
  const auto list = c.ask(request("GET", "/v1/acl/list", root));
  CHECK(list.status == 200);
  CHECK(
      list.body ==
      R"([{"ID":"root-secret","Name":"Master Token","Type":"management","Rules":"","CreateIndex":1,"ModifyIndex":1}])");
  CHECK(list.has("Content-Type: application/json\r\n"));
  const auto index_of = [](const std::string& head) {
    const auto at = head.find("X-Consul-Index: ");
    return at == std::string::npos ? std::string() : head.substr(at, head.find("\r\n", at) - at);
  };
  CHECK_FALSE(index_of(list.head).empty());
  CHECK(index_of(list.head) == index_of(c.ask(request("GET", "/v1/acl/tokens", root)).head)); // it is the same table
  CHECK(c.ask(request("GET", "/v1/acl/list", "acl-write")).body == list.body);
  CHECK(c.ask(request("GET", "/v1/acl/list", "acl-read")).body == "Permission denied");
  CHECK(c.ask(request("GET", "/v1/acl/list", "")).status == 403);
  CHECK(c.ask(request("GET", "/v1/acl/list", "wrong")).body == "ACL not found");
}

TEST_CASE("without ACLs no token is looked at", "[gateway][acl]") {
  gateway_fixture f;
  f.behind().status = cluster_of_two();
  auto c = f.client();
  CHECK(c.ask(request("GET", "/v1/agent/self", "wrong")).status == 200);
  CHECK(c.ask(request("PUT", "/v1/kv/a", "wrong", "1")).status == 200);
  CHECK(c.ask(request("GET", "/v1/kv/a", "wrong")).status == 200);
  CHECK(c.ask(request("GET", "/v1/acl/tokens", "wrong")).status == 401);
  CHECK(c.ask(request("GET", "/v1/acl/list", "wrong")).body == "ACL support disabled");
  CHECK(c.ask(request("PUT", "/v1/agent/token/default", "wrong", R"({"Token":"x"})")).status == 401);
  std::lock_guard lock(f.behind().mutex);
  REQUIRE(f.behind().writes.size() == 1);
  CHECK_FALSE(wire::decode_command(*f.behind().writes[0].command)->by);
  REQUIRE(f.behind().reads.size() == 1);
  CHECK_FALSE(f.behind().reads[0].request.query.by);
}

// A client that has just made a token at the leader uses it at a follower, whose tables may not know it yet.
TEST_CASE("who is refused by tables that may be behind is asked for once more", "[gateway][acl]") {
  tables behind(rules_by_name{{"old", ""}}),
      caught_up(rules_by_name{{"old", R"(agent "n1" { policy = "read" })"},
                              {"new", R"(agent "n1" { policy = "read" } node_prefix "" { policy = "read" })"}});
  gateway_fixture f(with_acls());
  f.behind().status = cluster_of_two();
  auto& b = f.behind();
  b.answer = [&](const state::query& q) {
    const bool stale = b.reads.back().request.mode == http::consistency::stale;
    return (stale ? behind : caught_up).machine.evaluate(q);
  };
  auto c = f.client();
  CHECK(c.ask(request("GET", "/v1/agent/self", "new")).status == 200);
  CHECK(b.read_count() == 2);
  CHECK(c.ask(request("GET", "/v1/agent/self", "old")).status == 200);
  CHECK(b.read_count() == 4);
  const auto no = c.ask(request("GET", "/v1/agent/self", "nobody's"));
  CHECK(no.status == 403);
  CHECK(no.body == "ACL not found");
  CHECK(b.read_count() == 6);
  const auto denied = c.ask(request("GET", "/v1/operator/raft/configuration", "new"));
  CHECK(denied.status == 403);
  CHECK(denied.body == "Permission denied");
}

TEST_CASE("members are left out whose node may not be read", "[gateway][acl]") {
  tables t(rules_by_name{{"one", R"(node "n2" { policy = "read" })"}});
  gateway_fixture f(with_acls());
  judge_by(f, t);
  f.behind().status = cluster_of_two();
  auto c = f.client();
  CHECK(c.ask(request("GET", "/v1/agent/members", "")).body == "[]");
  const auto one = c.ask(request("GET", "/v1/agent/members", "one")).body;
  CHECK(one.find("\"Name\":\"n1\"") == std::string::npos);
  CHECK(one.find("\"Name\":\"n2\"") != std::string::npos);
  const auto all = c.ask(request("GET", "/v1/agent/members", root)).body;
  CHECK(all.find("\"Name\":\"n1\"") != std::string::npos);
  CHECK(all.find("\"Name\":\"n2\"") != std::string::npos);
  CHECK(all.find("\"acls\":\"1\"") != std::string::npos);
}

// In an emergency there is no leader, and nobody to ask.
TEST_CASE("the token agent_master opens this agent without asking anybody, and nothing else", "[gateway][acl]") {
  gateway_fixture f(with_acls());
  f.behind().status = cluster_of_two();
  f.behind().hold_reads = true;
  auto c = f.client();
  CHECK(c.ask(request("GET", "/v1/agent/self", emergency)).status == 200);
  CHECK(c.ask(request("GET", "/v1/agent/metrics", emergency)).status == 200);
  CHECK(c.ask(request("PUT", "/v1/agent/reload", emergency)).status == 200);
  CHECK(c.ask(request("GET", "/v1/agent/members", emergency)).body.find("\"Name\":\"n2\"") != std::string::npos);
  CHECK(c.ask(request("PUT", "/v1/agent/maintenance?enable=true", emergency)).status == 403);
  CHECK(f.behind().read_count() == 0);
  c.send(request("GET", "/v1/operator/raft/configuration", emergency));
  REQUIRE(eventually([&] { return f.behind().read_count() == 1; }));
  for (const auto& almost : {emergency + "x", emergency.substr(1), std::string("emergency-secreT")})
    CHECK_FALSE(is_secret(emergency, almost));
  CHECK(is_secret(emergency, emergency));
  CHECK_FALSE(is_secret("", ""));
}

// Else whoever has no token fills the log, on the disks of all servers.
TEST_CASE("writes in somebody's name are looked at before they go to the log", "[gateway][acl]") {
  gateway_fixture f(with_acls());
  auto c = f.client();
  for (std::size_t n = 1; n <= 3; ++n) {
    CHECK(c.ask(request("PUT", "/v1/kv/a", "t", "1")).status == 200);
    CHECK(f.behind().check_count() == n);
  }
  CHECK(f.behind().write_count() == 0);
  std::lock_guard lock(f.behind().mutex);
  for (const auto& w : f.behind().checked) {
    REQUIRE(w.command.by);
    CHECK(w.command.by->secret == secret_of("t"));
    CHECK_FALSE(w.command.by->allowed_by_default);
  }
}

// A token that was deleted opens nothing at a follower that has not heard of it: archives with all secrets, keys of the cluster. What
// concerns this server only is asked of its own tables, so that it goes on without a leader.
TEST_CASE("permissions are asked of tables that have all that was decided, but for what concerns this server alone",
          "[gateway][acl]") {
  struct row {
    const char* method;
    const char* target;
    http::consistency mode;
  };
  const row rows[] = {
      {"GET", "/v1/snapshot", http::consistency::normal},
      {"GET", "/v1/snapshot?stale", http::consistency::stale},
      {"GET", "/v1/operator/keyring", http::consistency::normal},
      {"POST", "/v1/operator/keyring", http::consistency::normal},
      {"GET", "/v1/operator/raft/configuration", http::consistency::normal},
      {"GET", "/v1/operator/raft/configuration?stale", http::consistency::stale},
      {"DELETE", "/v1/operator/raft/peer?id=11111111-2222-4333-8444-555555555555", http::consistency::normal},
      {"GET", "/v1/operator/autopilot/health", http::consistency::normal},
      {"PUT", "/v1/agent/force-leave/n2", http::consistency::normal},
      {"POST", "/v1/acl/rules/translate", http::consistency::normal},
      {"GET", "/v1/agent/self", http::consistency::stale},
      {"GET", "/v1/agent/metrics", http::consistency::stale},
      {"PUT", "/v1/agent/reload", http::consistency::stale},
  };
  for (const auto& t : rows) {
    INFO(t.method << ' ' << t.target);
    gateway_fixture f(with_acls());
    f.behind().hold_reads = true;
    auto c = f.client();
    c.send(request(t.method, t.target, "t", std::string(t.method) == "POST" ? R"({"Key":"x"})" : ""));
    REQUIRE(eventually([&] { return f.behind().read_count() == 1; }));
    std::lock_guard lock(f.behind().mutex);
    CHECK(f.behind().reads[0].request.mode == t.mode);
  }
}

TEST_CASE("a blocking read of the agent is judged again before it is answered", "[gateway][acl]") {
  tables t(rules_by_name{{"reads-web", R"(service "web" { policy = "read" })"}});
  gateway_fixture f(with_acls(), nullptr, true);
  judge_by(f, t);
  f.behind().agent = [](const agent_call&) -> std::optional<agent::reply> { return std::nullopt; };
  auto row = std::make_shared<state::service_record>();
  row->id = row->service = "web";
  const agent::reply found = agent::service_row{row, "22"};
  const auto calls = [&](std::size_t n) {
    return eventually([&] {
      std::lock_guard lock(f.behind().mutex);
      return f.behind().agent_calls.size() == n;
    });
  };
  auto c = f.client();
  c.send(request("GET", "/v1/agent/service/web?hash=11", "reads-web"));
  REQUIRE(calls(1));
  f.answer_agent(0, found);
  CHECK(c.read().status == 200);

  c.send(request("GET", "/v1/agent/service/web?hash=11", "reads-web"));
  REQUIRE(calls(2));
  {
    std::lock_guard lock(f.behind().mutex); // the tables belong to whoever holds it
    t.remove("reads-web");
  }
  f.answer_agent(1, found);
  const auto no = c.read();
  CHECK(no.status == 403);
  CHECK(no.body == "ACL not found");
}

TEST_CASE("a refusal of the agent by tables that may be behind is asked for once more", "[gateway][acl]") {
  const std::string rules = R"(service "web" { policy = "write" })";
  tables behind(rules_by_name{{"t", ""}}), caught_up(rules_by_name{{"t", rules}});
  gateway_fixture f(with_acls(), nullptr, true);
  auto& b = f.behind();
  b.answer = [&](const state::query& q) {
    const bool stale = b.reads.back().request.mode == http::consistency::stale;
    return (stale ? behind : caught_up).machine.evaluate(q);
  };
  b.agent = [](const agent_call& c) -> std::optional<agent::reply> {
    if (!c.may->service_write("web"))
      return agent::refused{403, "Permission denied: Missing service:write on web"};
    return agent::accepted{};
  };
  auto c = f.client();
  CHECK(c.ask(request("PUT", "/v1/agent/service/register", "t", R"({"Name":"web"})")).status == 200);
  std::lock_guard lock(b.mutex);
  CHECK(b.agent_calls.size() == 2);
}

TEST_CASE("PUT /v1/agent/token changes the tokens of this server, and what requests without one may do",
          "[gateway][acl]") {
  tables t(rules_by_name{{"agent-write", R"(agent_prefix "" { policy = "write" })"},
                         {"agent-read", R"(agent_prefix "" { policy = "read" })"}});
  auto settings = with_acls();
  int kept = 0;
  std::string error;
  settings.files.keep_tokens = [&] {
    ++kept;
    return error;
  };
  const auto tokens = settings.tokens;
  gateway_fixture f(std::move(settings));
  judge_by(f, t);
  f.behind().status = cluster_of_two();
  auto c = f.client();
  CHECK(c.ask(request("GET", "/v1/agent/self", "")).status == 403);
  const auto set = [&](const std::string& which, const std::string& to, const std::string& by = "agent-write") {
    return c.ask(request("PUT", "/v1/agent/token/" + which, by, "{\"Token\":\"" + secret_of(to) + "\"}"));
  };
  CHECK(set("default", "agent-read", "agent-read").status == 403);
  CHECK(kept == 0);
  CHECK(set("default", "agent-read").status == 200);
  CHECK(kept == 1);
  CHECK(c.ask(request("GET", "/v1/agent/self", "")).status == 200);
  CHECK(tokens->kept().of_requests == secret_of("agent-read"));
  CHECK(set("agent_master", "other").status == 200);
  CHECK(c.ask(request("PUT", "/v1/agent/reload", "other")).status == 200); // no token of the tables
  CHECK(c.ask(request("PUT", "/v1/agent/reload", emergency)).status == 403);
  error = "no space left on device";
  const auto failed = set("replication", "x");
  CHECK(failed.status == 500);
  CHECK(failed.body.find(error) != std::string::npos);
  // The configuration was read again, and says something else: what clients have set lasts as long as the disk keeps it.
  agent_token_values configured;
  configured.of_requests = "wrong";
  tokens->configure(configured, true);
  CHECK(c.ask(request("GET", "/v1/agent/self", "")).status == 200);
  tokens->configure(configured, false);
  CHECK(c.ask(request("GET", "/v1/agent/self", "")).status == 403);
}

TEST_CASE("a bootstrap brings the index of the operator's file, which goes when it was used", "[gateway][acl]") {
  auto settings = with_acls();
  int removed = 0;
  log_index in_file{7};
  settings.files.bootstrap_reset = [&] { return in_file; };
  settings.files.remove_bootstrap_reset = [&] { ++removed; };
  gateway_fixture f(std::move(settings));
  auto c = f.client();
  {
    std::lock_guard lock(f.behind().mutex);
    auto made = std::make_shared<state::acl_token>();
    made->accessor = some_id;
    made->secret = some_id;
    f.behind().check_replies = {state::acl_row{state::acl_token_ptr(made), {}, {}},
                                state::refusal{"Permission denied: ACL bootstrap no longer allowed (reset index: 9)"}};
  }
  const auto no = c.ask(request("PUT", "/v1/acl/bootstrap", ""));
  CHECK(no.status == 403);
  CHECK(removed == 0);
  in_file = log_index{9};
  CHECK(c.ask(request("PUT", "/v1/acl/bootstrap", "")).status == 200);
  CHECK(removed == 1);
  std::lock_guard lock(f.behind().mutex);
  REQUIRE(f.behind().checked.size() == 2);
  CHECK(std::get<state::acl_bootstrap>(f.behind().checked[0].command).reset_index == log_index{7});
  CHECK(std::get<state::acl_bootstrap>(f.behind().checked[1].command).reset_index == log_index{9});
  CHECK_FALSE(f.behind().checked[1].command.by);
}

TEST_CASE("a renewal needs session:write on the node of the session", "[gateway][acl]") {
  tables t(rules_by_name{{"w", R"(session "n1" { policy = "write" })"}, {"r", R"(session "n1" { policy = "read" })"}});
  const auto known = uuid_of(5, 1);
  state::catalog_register node;
  node.node.node = "n1";
  node.node.address = "10.0.0.1";
  t.apply(node);
  state::session_create session;
  session.session.id = known;
  session.session.node = "n1";
  t.apply(session);
  gateway_fixture f(with_acls());
  judge_by(f, t);
  auto c = f.client();
  // Of a session that nobody knows.
  CHECK(c.ask(request("PUT", "/v1/session/renew/" + some_id, "r")).status == 404);
  CHECK(c.ask(request("PUT", "/v1/session/renew/" + some_id, "wrong")).status == 403);
  CHECK(c.ask(request("PUT", "/v1/session/renew/" + known, "r")).body == "Permission denied");
  CHECK(c.ask(request("PUT", "/v1/session/renew/" + known, "w")).status == 404); // nobody is there who renews it
  std::lock_guard lock(f.behind().mutex);
  for (const auto& r : f.behind().reads)
    CHECK(r.request.mode ==
          http::consistency::normal); // a session of which these tables do not know yet is not everybody's
}
