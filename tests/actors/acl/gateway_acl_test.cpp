// ACLs at a gateway: the permissions that it requests before it forwards, and what it forwards.

#include "protocol/agent/agent_permissions.hpp"
#include "protocol/base/secrets.hpp"
#include "protocol/base/uuid.hpp"
#include "protocol/http/routes.hpp"
#include "protocol/wire/command_codec.hpp"
#include "tests/actors/acl/authorizing_gateway.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using namespace std::chrono_literals;

namespace {

const std::string some_id = "aaaaaaaa-2222-4333-8444-555555555555";

} // namespace

// Old clients use it to test whether they can manage ACLs (docs/contract/10, section 5.5).
TEST_CASE("the token list from before Consul 1.4, on the wire", "[gateway][acl]") {
  tables t(rules_by_name{{"acl-read", R"(acl = "read")"}, {"acl-write", R"(acl = "write")"}});
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

// Bodies of 4 MB were parsed, and rejected with 400, before the token was checked: seconds and
// gigabytes for anyone. The response to a large body that is not JSON shows the order.
TEST_CASE("a large body is parsed once its token is known, on every path that parses one", "[gateway][acl]") {
  tables t(rules_by_name{{"reader", R"(key_prefix "" { policy = "read" })"}});
  gateway_fixture f(with_acls(), nullptr, true);
  f.behind().status = cluster_of_two();
  authorize_by(f, t);
  auto c = f.client();
  const std::string large = "[" + std::string(100'000, ' ') + "}", small = "[}";
  std::size_t paths = 0;
  for (const auto& r : http::all_routes()) {
    const auto path = std::string(r.pattern) + (r.pattern.back() == '/' ? "x" : "");
    for (const auto method : http::method_names_of(r)) {
      const std::string m(method);
      const auto parsed =
          http::parse({method, path, {}, small, "127.0.0.1"}, with_acls().routes, [] { return some_id; });
      const auto* known = std::get_if<http::response>(&parsed.action);
      if (known == nullptr || known->status != 400 || known->body.find("invalid character") == std::string::npos)
        continue; // its body is not JSON
      INFO(m << " " << path);
      ++paths;
      CHECK(c.ask(request(m, path, "wrong", large)).status == 403);
      CHECK(c.ask(request(m, path, "wrong", small)).status == 400); // as Belay always did
      const auto after = c.ask(request(m, path, root, large));
      CHECK(after.status == 400);
      CHECK(after.body.find("invalid character") != std::string::npos);
      // If the permission does not depend on the body, it is checked first, too.
      const auto needs = r.needs(http::method_bit(method));
      if (needs != http::access::by_state && needs != http::access::by_agent && needs != http::access::coordinate_write)
        CHECK(c.ask(request(m, path, "reader", large)).status == 403);
    }
  }
  CHECK(paths >= 10);
  // In the end the request is carried out.
  const auto value = R"([{"KV":{"Verb":"set","Key":"a","Value":")" + std::string(100'000, 'Y') + R"("}}])";
  CHECK(c.ask(request("PUT", "/v1/txn", "wrong", value)).body == "ACL not found");
  CHECK(f.behind().check_count() == 0);
  c.ask(request("PUT", "/v1/txn", root, value));
  CHECK(f.behind().check_count() == 1);
}

TEST_CASE("without ACLs no token is looked up", "[gateway][acl]") {
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

// A client has just created a token at the leader, and uses it at a follower that may lag.
TEST_CASE("a rejection by tables that may be stale is checked once more", "[gateway][acl]") {
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

TEST_CASE("members are left out if their node may not be read", "[gateway][acl]") {
  tables t(rules_by_name{{"one", R"(node "n2" { policy = "read" })"}});
  gateway_fixture f(with_acls());
  authorize_by(f, t);
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

// In an emergency there is no leader to request anything from.
TEST_CASE("the token agent_master permits the routes of this agent without a server, and nothing else",
          "[gateway][acl]") {
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

// Otherwise clients without a token could fill the log, on the disks of all servers.
TEST_CASE("writes with a token are authorized before they are proposed", "[gateway][acl]") {
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

// A deleted token must give no permission at a follower that has not applied the deletion. Requests
// that concern only this server are decided by its own tables, so they need no leader.
TEST_CASE("permissions are checked on up-to-date tables, except for what concerns only this server", "[gateway][acl]") {
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
    c.send(request(t.method, t.target, "t",
                   std::string(t.method) == "POST" ? R"({"Key":"cg8StVXbQJ0gPvMd9o7yrg=="})" : ""));
    REQUIRE(eventually([&] { return f.behind().read_count() == 1; }));
    std::lock_guard lock(f.behind().mutex);
    CHECK(f.behind().reads[0].request.mode == t.mode);
  }
}

TEST_CASE("a blocking read of the agent is authorized again before it returns", "[gateway][acl]") {
  tables t(rules_by_name{{"reads-web", R"(service "web" { policy = "read" })"}});
  gateway_fixture f(with_acls(), nullptr, true);
  authorize_by(f, t);
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
    std::lock_guard lock(f.behind().mutex); // the tables belong to the holder of this mutex
    t.remove("reads-web");
  }
  f.answer_agent(1, found);
  const auto no = c.read();
  CHECK(no.status == 403);
  CHECK(no.body == "ACL not found");
}

// The agent may have nothing new for a long time; a client whose token has ended must not wait.
TEST_CASE("a blocking read of the agent ends when its token does, not with its wait", "[gateway][acl]") {
  tables t(rules_by_name{{"reads-web", R"(service "web" { policy = "read" })"}});
  gateway_fixture f(with_acls(), nullptr, true);
  authorize_by(f, t);
  auto& b = f.behind();
  b.agent = [](const agent_call&) -> std::optional<agent::reply> { return std::nullopt; };
  auto c = f.client();
  c.send(request("GET", "/v1/agent/service/web?hash=11&wait=300s", "reads-web"));
  REQUIRE(eventually([&] {
    std::lock_guard lock(b.mutex);
    return b.agent_calls.size() == 1;
  }));
  {
    std::lock_guard lock(b.mutex);
    t.remove("reads-web");
  }
  const auto no = c.read(); // gives up after ten seconds
  CHECK(no.status == 403);
  CHECK(no.body == "ACL not found");
}

// It may see less now, so what it waits for has changed (docs/contract/13).
TEST_CASE("a blocking read of the agent is authorized again when the policies of its token change", "[gateway][acl]") {
  tables t(rules_by_name{{"sees", R"(event_prefix "" { policy = "read" })"}});
  gateway_fixture f(with_acls(), nullptr, true);
  authorize_by(f, t);
  auto& b = f.behind();
  b.agent = [](const agent_call& c) -> std::optional<agent::reply> {
    if (c.may->event_read("deploy"))
      return std::nullopt;
    return agent::event_rows{};
  };
  auto c = f.client();
  c.send(request("GET", "/v1/event/list?index=7&wait=300s", "sees"));
  REQUIRE(eventually([&] {
    std::lock_guard lock(b.mutex);
    return b.agent_calls.size() == 1;
  }));
  {
    std::lock_guard lock(b.mutex);
    t.set_rules("sees", R"(event "other" { policy = "read" })");
  }
  const auto seen = c.read();
  CHECK(seen.status == 200);
  CHECK(seen.body == "[]");
  std::lock_guard lock(b.mutex);
  REQUIRE(b.agent_calls.size() == 2);
  CHECK(agent::wait_of(b.agent_calls[1].what) < agent::wait_of(b.agent_calls[0].what));
}

TEST_CASE("the log stream ends for a client whose permission is revoked", "[gateway][acl][monitor]") {
  tables t(rules_by_name{{"reads", R"(agent_prefix "" { policy = "read" })"},
                         {"also-reads", R"(agent_prefix "" { policy = "read" })"},
                         {"stays", R"(agent_prefix "" { policy = "read" })"}});
  auto settings = with_acls();
  const auto tokens = settings.tokens;
  gateway_fixture f(std::move(settings));
  authorize_by(f, t);
  std::vector<raw_client> clients;
  for (const auto* who : {"reads", "also-reads", "stays"}) {
    clients.push_back(f.client());
    clients.back().send(request("GET", "/v1/agent/monitor?loglevel=debug", who));
    CHECK(clients.back().receive().find("200 OK") != std::string::npos);
  }
  auto master = f.client();
  master.send(request("GET", "/v1/agent/monitor", emergency));
  CHECK(master.receive().find("200 OK") != std::string::npos);
  {
    std::lock_guard lock(f.behind().mutex);
    t.remove("reads");
    t.set_rules("also-reads", R"(agent_prefix "" { policy = "deny" })");
  }
  tokens->set({http::agent_token_kind::agent_master, "another"});
  // Each ends as a response does; rest() would wait for the end of the connection.
  const auto ends = [](raw_client& c) {
    for (std::string all;;) {
      const auto more = c.receive(); // gives up after ten seconds
      all += more;
      if (all.ends_with("0\r\n\r\n") || more.empty())
        return all.ends_with("0\r\n\r\n");
    }
  };
  CHECK(ends(clients[0]));
  CHECK(ends(clients[1]));
  CHECK(ends(master));
  log::warn("test", "for who stays");
  CHECK(eventually([&, all = std::string()]() mutable {
    all += clients[2].receive();
    return all.find("for who stays") != std::string::npos;
  }));
}

TEST_CASE("a rejection of the agent by tables that may be stale is checked once more", "[gateway][acl]") {
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

TEST_CASE("PUT /v1/agent/token changes the tokens of this server, and the permissions of requests without one",
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
  authorize_by(f, t);
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
  CHECK(c.ask(request("PUT", "/v1/agent/reload", "other")).status == 200); // not a token of the tables
  CHECK(c.ask(request("PUT", "/v1/agent/reload", emergency)).status == 403);
  error = "no space left on device";
  const auto failed = set("replication", "x");
  CHECK(failed.status == 500);
  CHECK(failed.body.find(error) != std::string::npos);
  // The reloaded configuration has other tokens: those set by clients stay while the disk has them.
  agent_token_values configured;
  configured.of_requests = "wrong";
  tokens->configure(configured, true);
  CHECK(c.ask(request("GET", "/v1/agent/self", "")).status == 200);
  tokens->configure(configured, false);
  CHECK(c.ask(request("GET", "/v1/agent/self", "")).status == 403);
}

TEST_CASE("a bootstrap uses the index of the operator's file, which is removed after use", "[gateway][acl]") {
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
  authorize_by(f, t);
  auto c = f.client();
  // For an unknown session.
  CHECK(c.ask(request("PUT", "/v1/session/renew/" + some_id, "r")).status == 404);
  CHECK(c.ask(request("PUT", "/v1/session/renew/" + some_id, "wrong")).status == 403);
  CHECK(c.ask(request("PUT", "/v1/session/renew/" + known, "r")).body == "Permission denied");
  CHECK(c.ask(request("PUT", "/v1/session/renew/" + known, "w")).status == 404); // not renewed here
  std::lock_guard lock(f.behind().mutex);
  for (const auto& r : f.behind().reads)
    CHECK(r.request.mode ==
          http::consistency::normal); // a session that these tables do not have yet is not accessible to all
}
