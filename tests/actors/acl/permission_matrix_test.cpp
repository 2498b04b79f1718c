// Sends a request to every route with tokens that have one permission each: status and visible
// rows. Expectations come from docs/contract/10, section 3, not from the table of routes.

#include "protocol/agent/local_agent.hpp"
#include "protocol/http/routes.hpp"
#include "tests/actors/acl/authorizing_gateway.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using namespace std::chrono_literals;

namespace {

const std::string id = "aaaaaaaa-2222-4333-8444-555555555555"; // used for a session, a role, and what add_ids() makes

std::string all_of(const std::string& resource, const std::string& policy) {
  return resource + "_prefix \"\" { policy = \"" + policy + "\" }";
}

rules_by_name tokens_of_the_matrix() {
  rules_by_name out{{"nothing", ""}, {"catalog-read", all_of("node", "read") + " " + all_of("service", "read")}};
  for (const std::string resource : {"key", "session", "service", "event", "node", "agent"})
    for (const std::string policy : {"read", "write"})
      out[resource + "-" + policy] = all_of(resource, policy);
  for (const std::string resource : {"operator", "keyring", "acl"})
    for (const std::string policy : {"read", "write"})
      out[resource + "-" + policy] = resource + " = \"" + policy + "\"";
  return out;
}

/// Nodes n1 (this server's) and n2 with the service db and checks; keys, a session, a role.
std::unique_ptr<tables> tables_of_the_matrix() {
  auto t = std::make_unique<tables>(tokens_of_the_matrix());
  t->add_ids(id);
  state::catalog_register own;
  own.node.node = "n1";
  own.node.address = "10.0.0.1";
  t->apply(own);
  state::catalog_register other;
  other.node.node = "n2";
  other.node.address = "10.0.0.2";
  other.service.emplace();
  other.service->id = other.service->service = "db";
  other.checks.resize(2);
  other.checks[0].check_id = other.checks[0].name = "alive";
  other.checks[1].check_id = other.checks[1].name = "of-db";
  other.checks[1].service_id = "db";
  for (auto& c : other.checks) {
    c.node = "n2";
    c.status = "passing";
  }
  t->apply(other);
  for (const auto* key : {"app/a", "other/b"}) {
    state::kv_write w;
    w.op.key = key;
    w.op.value = make_payload("v");
    t->apply(w);
  }
  state::session_create session;
  session.session.id = id;
  session.session.node = "n1";
  t->apply(session);
  state::acl_role_set role;
  role.role.id = id;
  role.role.name = "r1";
  role.policies = {{std::string(state::management_policy_id), ""}};
  role.fresh = true;
  t->apply(role);
  coordinates::table where;
  where.put(std::make_shared<const coordinates::row>(coordinates::row{"n2", "", {}, 100}));
  t->machine.set_coordinates(std::make_shared<const coordinates::table>(std::move(where)));
  return t;
}

/// The agent of n1: a service with a check, a check of the node, and an event.
agent::local_agent agent_of_the_matrix() {
  agent::agent_settings s;
  s.registry.node.node = "n1";
  s.registry.node.address = "10.0.0.1";
  agent::local_agent a(s);
  agent::register_service web;
  web.definition.service.service = web.definition.service.id = "web";
  REQUIRE(std::holds_alternative<agent::accepted>(*a.handle(web, 1h)));
  agent::register_check check;
  check.definition.id = check.definition.name = "nc";
  check.definition.ttl_ns = std::chrono::nanoseconds(1h).count();
  REQUIRE(std::holds_alternative<agent::accepted>(*a.handle(check, 1h)));
  check.definition.id = check.definition.name = "of-web";
  check.definition.service_id = "web";
  REQUIRE(std::holds_alternative<agent::accepted>(*a.handle(check, 1h)));
  agent::fire_event deploy;
  deploy.event.id = id;
  deploy.event.name = "deploy";
  REQUIRE_FALSE(std::holds_alternative<agent::refused>(*a.handle(deploy, 1h)));
  return a;
}

constexpr int not_refused = 0;    // any response of the actors behind the gateway, except 403 and none
constexpr int not_requested = -1; // its response has no end, or it needs what is not there

struct expectation {
  const char* method;
  const char* target;
  const char* body;
  const char* who;     ///< these, and the management token. `*`: all and none; `+`: all; `**`: also an unknown one
  int status;          ///< the status that they get
  const char* row;     ///< and the text that they see; empty: any
  int otherwise = 403; ///< the status for other known tokens, and for none; they do not see the text
};

#define ID "aaaaaaaa-2222-4333-8444-555555555555"
#define NODE_READERS "node-read node-write catalog-read"
#define SERVICE_READERS "service-read service-write catalog-read"

const expectation expected[] = {
    {"GET", "/v1/kv/app/a", "", "key-read key-write", 200, "app/a"},
    {"GET", "/v1/kv/none", "", "key-read key-write", 404, ""},
    {"GET", "/v1/kv/app/?recurse", "", "key-read key-write", 200, "app/a", 404},
    {"GET", "/v1/kv/?keys", "", "key-read key-write", 200, "app/a", 200},
    {"GET", "/v1/kv/app/?keys", "", "key-read key-write", 200, "app/a", 404},
    {"PUT", "/v1/kv/app/a", "1", "key-write", 200, "true"},
    {"PUT", "/v1/kv/new?cas=0", "1", "key-write", 200, "true"},
    {"PUT", "/v1/kv/app/a?acquire=" ID, "1", "key-write", 200, "true"}, // the session needs no permission
    {"DELETE", "/v1/kv/app/a", "", "key-write", 200, "true"},
    {"DELETE", "/v1/kv/app/?recurse", "", "key-write", 200, "true"},

    {"PUT", "/v1/txn", R"([{"KV":{"Verb":"set","Key":"t","Value":"MQ=="}}])", "key-write", 200, "\"t\"", 409},
    {"PUT", "/v1/txn", R"([{"KV":{"Verb":"get","Key":"app/a"}}])", "key-read key-write", 200, "app/a", 200},
    {"PUT", "/v1/txn", R"([{"KV":{"Verb":"get-tree","Key":"app/"}}])", "key-read key-write", 200, "app/a", 200},
    {"PUT", "/v1/txn", R"([{"KV":{"Verb":"check-not-exists","Key":"none"}}])", "key-write", 200, "", 409},
    {"PUT", "/v1/txn", R"([{"Node":{"Verb":"get","Node":{"Node":"n2"}}}])", NODE_READERS, 200, "\"n2\"", 200},
    {"PUT", "/v1/txn", R"([{"Node":{"Verb":"delete","Node":{"Node":"n2"}}}])", "node-write", 200, "", 409},
    {"PUT", "/v1/txn", R"([{"Service":{"Verb":"delete","Node":"n2","Service":{"ID":"db","Service":"db"}}}])",
     "service-write", 200, "", 409},

    {"PUT", "/v1/session/create", R"({"Node":"n1","Checks":[]})", "session-write", 200, "\"ID\""},
    {"PUT", "/v1/session/destroy/" ID, "", "session-write", 200, "true"},
    {"PUT", "/v1/session/renew/" ID, "", "session-write", 404, ""}, // there is no session reaper to renew it
    {"GET", "/v1/session/info/" ID, "", "session-read session-write", 200, ID, 200},
    {"GET", "/v1/session/node/n1", "", "session-read session-write", 200, ID, 200},
    {"GET", "/v1/session/list", "", "session-read session-write", 200, ID, 200},

    {"PUT", "/v1/session/renew", "[\"" ID "\"]", "session-write", 200, "\"Renewed\":false"}, // likewise
    {"GET", "/v1/session/ended/" ID, "", "*", 404, ""},                                      // it is live

    {"PUT", "/v1/claim/c?session=" ID, "", "key-write", 200, "\"held\""},
    {"GET", "/v1/claim/c", "", "key-read key-write", 404, ""},
    {"DELETE", "/v1/claim/c?id=" ID, "", "key-write", 200, "true"},
    {"PUT", "/v1/claim/c/limit?n=3", "", "key-write", 200, "true"},
    {"DELETE", "/v1/claim/c/limit", "", "key-write", 200, "true"},
    {"PUT", "/v1/claim/c/mode?id=" ID "&mode=shared", "", "key-write", 404, ""},
    {"PUT", "/v1/claim/c/transfer?id=" ID, "", "key-write", 404, ""},
    {"GET", "/v1/claims", "", "*", 200, ""}, // rows are left out: claims_test
    {"GET", "/v1/claims/graph", "", "*", 200, ""},
    {"PUT", "/v1/guard/app/?claim=c", "", "key-write", 200, "true"},
    {"DELETE", "/v1/guard/app/?fence=5", "", "key-write", 200, "true"},
    {"DELETE", "/v1/guard/app/", "", "", 200, "true"}, // key write and operator write
    {"GET", "/v1/guards", "", "*", 200, ""},
    {"GET", "/v1/outcome/k", "", "*", 404, ""}, // only its own writes are visible
    {"PUT", "/v1/outcome/k/cancel", "", "*", 200, "\"cancelled\""},
    {"DELETE", "/v1/outcome/k", "", "*", 200, "\"void\""},
    {"GET", "/v1/kv/app/a?claims", "", "key-read key-write", 404, ""},
    {"PUT", "/v1/kv/app/a?acquire=" ID "&queue=1s", "1", "key-write", 200, "true"},
    {"PUT", "/v1/kv/app/a?fence=5&claim=c", "1", "key-write", 409, "not valid"},
    {"DELETE", "/v1/kv/app/a?fence=5&claim=c", "", "key-write", 409, "not valid"},

    {"GET", "/v1/status/leader", "", "**", 200, ""},
    {"GET", "/v1/status/peers", "", "**", 200, ""},

    {"PUT", "/v1/catalog/register", R"({"Node":"n3","Address":"10.0.0.3"})", "node-write", 200, ""},
    {"PUT", "/v1/catalog/register", R"({"Node":"n2","Address":"10.0.0.9"})", "node-write", 200, ""},
    {"PUT", "/v1/catalog/register",
     R"({"Node":"n2","Address":"10.0.0.2","SkipNodeUpdate":true,"Service":{"Service":"api"}})", "service-write", 200,
     ""},
    {"PUT", "/v1/catalog/deregister", R"({"Node":"n2"})", "node-write", 200, ""},
    {"PUT", "/v1/catalog/deregister", R"({"Node":"n2","ServiceID":"db"})", "node-write service-write", 200, ""},
    {"PUT", "/v1/catalog/deregister", R"({"Node":"n2","CheckID":"of-db"})", "node-write service-write", 200, ""},
    {"PUT", "/v1/catalog/deregister", R"({"Node":"n2","CheckID":"alive"})", "node-write", 200, ""},
    {"GET", "/v1/catalog/datacenters", "", "**", 200, ""},
    {"GET", "/v1/catalog/nodes", "", NODE_READERS, 200, "\"n2\"", 200},
    {"GET", "/v1/catalog/services", "", SERVICE_READERS, 200, "\"db\"", 200},
    {"GET", "/v1/catalog/service/db", "", "catalog-read", 200, "\"db\"", 200},
    {"GET", "/v1/catalog/node/n2", "", NODE_READERS, 200, "\"n2\"", 200},
    {"GET", "/v1/catalog/node/n2", "", "catalog-read", 200, "\"db\"", 200},
    {"GET", "/v1/catalog/node-services/n2", "", NODE_READERS, 200, "\"n2\"", 200},
    {"GET", "/v1/catalog/node-services/n2", "", "catalog-read", 200, "\"db\"", 200},
    {"GET", "/v1/health/node/n2", "", NODE_READERS, 200, "\"alive\"", 200},
    {"GET", "/v1/health/node/n2", "", "catalog-read", 200, "\"of-db\"", 200},
    {"GET", "/v1/health/checks/db", "", "catalog-read", 200, "\"of-db\"", 200},
    {"GET", "/v1/health/state/passing", "", "catalog-read", 200, "\"of-db\"", 200},
    {"GET", "/v1/health/service/db", "", "catalog-read", 200, "\"db\"", 200},
    {"GET", "/v1/catalog/connect/db", "", "*", 200, "[]"},
    {"GET", "/v1/catalog/gateway-services/db", "", "*", 200, "[]"},
    {"GET", "/v1/health/connect/db", "", "*", 200, "[]"},
    {"GET", "/v1/health/ingress/db", "", "*", 200, "[]"},

    {"GET", "/v1/coordinate/datacenters", "", "**", not_refused, ""},
    {"GET", "/v1/coordinate/nodes", "", NODE_READERS, 200, "\"n2\"", 200},
    {"GET", "/v1/coordinate/node/n2", "", NODE_READERS, 200, "\"n2\""},
    {"GET", "/v1/coordinate/node/none", "", NODE_READERS, 404, ""},
    {"PUT", "/v1/coordinate/update", R"({"Node":"n2","Coord":{"Vec":[0,0,0,0,0,0,0,0]}})", "node-write", not_refused,
     ""},

    {"GET", "/v1/agent/self", "", "agent-read agent-write", 200, ""},
    {"GET", "/v1/agent/members", "", NODE_READERS, 200, "\"Name\":\"n2\"", 200},
    {"GET", "/v1/agent/metrics", "", "agent-read agent-write", 200, ""},
    {"GET", "/v1/agent/live", "", "**", not_refused, ""},
    {"GET", "/v1/agent/ready", "", "**", not_refused, ""},
    {"PUT", "/v1/agent/reload", "", "agent-write", 200, ""},
    {"GET", "/v1/agent/monitor", "", "agent-read agent-write", not_requested, ""},
    {"GET", "/v1/agent/host", "", "operator-read operator-write", 200, ""},
    {"PUT", "/v1/agent/leave", "", "agent-write", 200, ""},
    {"PUT", "/v1/agent/join/10.0.0.9", "", "agent-write", not_refused, ""},
    {"PUT", "/v1/agent/force-leave/n9", "", "operator-write", not_refused, ""},
    {"PUT", "/v1/agent/maintenance?enable=true", "", "node-write", 200, ""},
    {"PUT", "/v1/agent/token/replication", R"({"Token":"x"})", "agent-write", 200, ""},
    {"PUT", "/v1/agent/token/none", R"({"Token":"x"})", "agent-write", 404, ""},

    {"GET", "/v1/agent/services", "", SERVICE_READERS, 200, "\"web\"", 200},
    {"GET", "/v1/agent/service/web", "", SERVICE_READERS, 200, "\"web\""},
    {"PUT", "/v1/agent/service/register", R"({"Name":"api"})", "service-write", 200, ""},
    {"PUT", "/v1/agent/service/deregister/web", "", "service-write", 200, ""},
    {"PUT", "/v1/agent/service/maintenance/web?enable=true", "", "service-write", 200, ""},
    {"GET", "/v1/agent/health/service/id/web", "", SERVICE_READERS, not_refused, "\"web\""},
    {"GET", "/v1/agent/health/service/name/web", "", SERVICE_READERS, not_refused, "\"web\""},
    {"GET", "/v1/agent/checks", "", NODE_READERS, 200, "\"nc\"", 200},
    {"GET", "/v1/agent/checks", "", SERVICE_READERS, 200, "\"of-web\"", 200},
    {"PUT", "/v1/agent/check/register", R"({"Name":"c2","TTL":"10s"})", "node-write", 200, ""},
    {"PUT", "/v1/agent/check/register", R"({"Name":"c3","ServiceID":"web","TTL":"10s"})", "service-write", 200, ""},
    {"PUT", "/v1/agent/check/deregister/nc", "", "node-write", 200, ""},
    {"PUT", "/v1/agent/check/deregister/of-web", "", "service-write", 200, ""},
    {"PUT", "/v1/agent/check/pass/nc", "", "node-write", 200, ""},
    {"PUT", "/v1/agent/check/pass/of-web", "", "service-write", 200, ""},
    {"PUT", "/v1/agent/check/warn/nc", "", "node-write", 200, ""},
    {"PUT", "/v1/agent/check/fail/nc", "", "node-write", 200, ""},
    {"PUT", "/v1/agent/check/update/nc", R"({"Status":"passing"})", "node-write", 200, ""},
    {"PUT", "/v1/event/fire/deploy", "", "event-write", 200, "\"deploy\""},
    {"GET", "/v1/event/list", "", "event-read event-write", 200, "\"deploy\"", 200},

    {"GET", "/v1/snapshot", "", "acl-write", not_requested, ""},
    {"PUT", "/v1/snapshot", "x", "acl-write", not_requested, ""},
    {"GET", "/v1/operator/raft/configuration", "", "operator-read operator-write", 200, ""},
    {"DELETE", "/v1/operator/raft/peer?address=10.0.0.9:8300", "", "operator-write", not_refused, ""},
    {"PUT", "/v1/operator/raft/peer?address=10.0.0.9:8300", "", "operator-write", not_refused, ""},
    {"GET", "/v1/operator/autopilot/configuration", "", "operator-read operator-write", 200, ""},
    {"PUT", "/v1/operator/autopilot/configuration", R"({"CleanupDeadServers":false})", "operator-write", not_refused,
     ""},
    {"GET", "/v1/operator/autopilot/health", "", "operator-read operator-write", not_refused, ""},
    {"GET", "/v1/operator/keyring", "", "keyring-read keyring-write", not_refused, ""},
    {"POST", "/v1/operator/keyring", R"({"Key":"pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s="})", "keyring-write",
     not_refused, ""},
    {"PUT", "/v1/operator/keyring", R"({"Key":"pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s="})", "keyring-write",
     not_refused, ""},
    {"DELETE", "/v1/operator/keyring", R"({"Key":"pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s="})", "keyring-write",
     not_refused, ""},

    {"GET", "/v1/acl/policies", "", "acl-read acl-write", 200, "global-management"},
    {"PUT", "/v1/acl/policy", R"({"Name":"fresh"})", "acl-write", 200, "\"fresh\""},
    {"GET", "/v1/acl/policy/" ID, "", "acl-read acl-write", 200, ID},
    {"GET", "/v1/acl/policy/xx", "", "acl-read acl-write", 500, ""},
    {"PUT", "/v1/acl/policy/" ID, R"({"Name":"fresh"})", "acl-write", 200, "\"fresh\""},
    {"DELETE", "/v1/acl/policy/" ID, "", "acl-write", 200, "true"},
    {"DELETE", "/v1/acl/policy/xx", "", "acl-write", 500, ""},
    {"GET", "/v1/acl/policy/name/global-management", "", "acl-read acl-write", 200, "global-management"},
    {"GET", "/v1/acl/roles", "", "acl-read acl-write", 200, "\"r1\""},
    {"PUT", "/v1/acl/role", R"({"Name":"r2","Policies":[{"Name":"global-management"}]})", "acl-write", 200, "\"r2\""},
    {"GET", "/v1/acl/role/" ID, "", "acl-read acl-write", 200, "\"r1\""},
    {"GET", "/v1/acl/role/xx", "", "acl-read acl-write", 500, ""},
    {"PUT", "/v1/acl/role/" ID, R"({"Name":"r2","Policies":[{"Name":"global-management"}]})", "acl-write", 200,
     "\"r2\""},
    {"DELETE", "/v1/acl/role/" ID, "", "acl-write", 200, "true"},
    {"GET", "/v1/acl/role/name/r1", "", "acl-read acl-write", 200, "\"r1\""},
    {"GET", "/v1/acl/tokens", "", "acl-read acl-write", 200, ID},
    {"PUT", "/v1/acl/token", R"({"Description":"t"})", "acl-write", 200, "\"SecretID\""},
    {"GET", "/v1/acl/token/" ID, "", "acl-read acl-write", 200, ID},
    {"GET", "/v1/acl/token/xx", "", "acl-read acl-write", 500, ""},
    {"PUT", "/v1/acl/token/" ID, R"({"Description":"t"})", "acl-write", 200, ID},
    {"PUT", "/v1/acl/token/" ID "/clone", "{}", "acl-write", 200, "\"SecretID\""},
    {"DELETE", "/v1/acl/token/" ID, "", "acl-write", 200, "true"},
    {"GET", "/v1/acl/token/self", "", "+", 200, "\"SecretID\""},
    {"GET", "/v1/acl/list", "", "acl-write", 200, "\"root-secret\""},
    {"GET", "/v1/acl/replication", "", "**", 200, ""},
    {"POST", "/v1/acl/rules/translate", R"(key "" { policy = "read" })", "acl-read acl-write", 200, "key_prefix"},
    {"GET", "/v1/acl/rules/translate/" ID, "", "acl-read acl-write", not_refused, ""},
    {"POST", "/v1/internal/acl/authorize", R"([{"Resource":"key","Segment":"a","Access":"read"}])", "*", 200, "Allow"},

    // Bootstrap has happened: refused to all. The other two are for client agents only.
    {"PUT", "/v1/acl/bootstrap", "", "**", 403, "ACL bootstrap no longer allowed"},
    {"GET", "/v1/internal/acl/rules", "", "**", 403, ""},
    {"PUT", "/v1/internal/agent/alive", "", "**", 403, ""},
    {"DELETE", "/v1/internal/agent/alive", "", "**", 403, ""},
};

#undef ID
#undef NODE_READERS
#undef SERVICE_READERS

bool gets_it(const expectation& e, const std::string& token) {
  const std::string who = e.who;
  if (token == "wrong")
    return who == "**";
  if (who == "**" || who == "*" || token == root)
    return true;
  if (who == "+")
    return !token.empty();
  std::istringstream words(who);
  for (std::string each; words >> each;)
    if (each == token)
      return true;
  return false;
}

} // namespace

TEST_CASE("every route with every permission: the response and the visible rows", "[gateway][acl]") {
  gateway_fixture f(with_acls(), nullptr, true);
  auto& b = f.behind();
  std::unique_ptr<tables> t;
  b.status = cluster_of_two();
  b.answer = [&](const state::query& q) { return t->machine.evaluate(q, cluster_time{1}); };
  b.apply = [&](const state::command& c) {
    state::effects changed;
    ++t->index;
    return t->machine.apply(log_index{t->index}, cluster_time{1000 + t->index}, c, changed);
  };
  b.agent = [](const agent_call& c) -> std::optional<agent::reply> {
    if (c.may == nullptr) // a request that was not authorized
      return agent::refused{599, "not judged"};
    return agent_of_the_matrix().handle(c.what, 1h, true, c.may.get());
  };
  std::vector<std::string> tokens{"", "wrong", root};
  for (const auto& [name, rules] : tokens_of_the_matrix())
    tokens.push_back(name);
  std::optional<raw_client> c;
  for (const auto& e : expected)
    for (const auto& token : tokens) {
      INFO(e.method << ' ' << e.target << ' ' << e.body << " by '" << token << "'");
      const bool gets = gets_it(e, token);
      if (gets && e.status == not_requested)
        continue;
      {
        std::lock_guard lock(b.mutex);
        t = tables_of_the_matrix(); // the earlier writes are not in it
      }
      if (!c)
        c.emplace(f.client());
      const auto a = c->ask(request(e.method, e.target, token, e.body));
      if (a.has("Connection: close")) // an upload that was rejected before its body was read
        c.reset();
      INFO(a.status << ' ' << a.body);
      REQUIRE(a.status != 0);
      const bool seen = a.body.find(e.row) != std::string::npos;
      if (!gets) {
        CHECK(a.status == (token == "wrong" ? 403 : e.otherwise));
        CHECK((*e.row == '\0' || !seen));
      } else if (e.status == not_refused) {
        CHECK(a.status != 403);
        CHECK(a.status != 599);
        CHECK(seen);
      } else {
        CHECK(a.status == e.status);
        CHECK(seen);
      }
    }
}

TEST_CASE("the matrix has every route with each of its methods", "[gateway][acl]") {
  std::set<std::string> requested;
  for (const auto& e : expected) {
    const std::string target = e.target;
    const auto* at = http::find_route(target.substr(0, target.find('?')));
    REQUIRE(at != nullptr);
    requested.insert(e.method + std::string(" ") + std::string(at->pattern));
  }
  for (const auto& route : http::all_routes())
    for (const auto method : http::method_names_of(route)) {
      INFO(method << ' ' << route.pattern);
      CHECK(requested.count(std::string(method) + " " + std::string(route.pattern)) == 1);
    }
}
