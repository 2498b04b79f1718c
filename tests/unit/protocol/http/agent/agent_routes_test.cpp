#include "tests/unit/protocol/http/requested.hpp"

#include "protocol/http/agent/agent_render.hpp"

using namespace belay;
using namespace belay::http;
using namespace std::chrono_literals;

namespace {

template <class Request>
Request agent_requested(std::string_view method, std::string_view target, std::string_view body = {},
                        header_list headers = {}) {
  auto p = ask(method, target, body, std::move(headers));
  INFO(method << " " << target << " " << body);
  if (const auto* r = std::get_if<response>(&p.action))
    INFO(r->status << " " << r->body);
  REQUIRE(std::holds_alternative<agent_request>(p.action));
  const auto& what = std::get<agent_request>(p.action).what;
  REQUIRE(std::holds_alternative<Request>(what));
  return std::get<Request>(what);
}

void refuses(std::string_view method, std::string_view target, std::string_view body, int status,
             const std::string& text) {
  const auto r = refusal_to(method, target, body);
  CHECK(r.status == status);
  CHECK(r.body == text);
}

agent::health_of_service health_of(std::string status) {
  auto s = std::make_shared<state::service_record>();
  s->id = s->service = "web";
  return {std::move(status), s, {}};
}

} // namespace

TEST_CASE("a service as clients register it, in both spellings") {
  const auto r =
      agent_requested<agent::register_service>("PUT", "/v1/agent/service/register?replace-existing-checks", R"(
    {"ID":"w1","Name":"web","Tags":["a"],"Port":80,"Address":"10.7.7.7","Meta":{"k":"v"},"enable_tag_override":true,
     "Weights":{"Passing":5},"Token":"t",
     "Check":{"CheckID":"c","HTTP":"http://x/","Method":"PUT","Header":{"X":["1"]},"Interval":"10s","Timeout":2000000000,
              "DeregisterCriticalServiceAfter":"90m"},
     "Checks":[{"ttl":"5s","success_before_passing":2},{"ScriptArgs":["/bin/true"],"Interval":"1s"}]})");
  CHECK(r.replace_existing_checks);
  const auto& s = r.definition.service;
  CHECK(s.id == "w1");
  CHECK(s.service == "web");
  CHECK(s.port == 80);
  CHECK(s.enable_tag_override);
  CHECK(s.weights.passing == 5);
  REQUIRE(r.definition.checks.size() == 3);
  const auto& c = r.definition.checks[0];
  CHECK(c.id == "c");
  CHECK(c.method == "PUT");
  CHECK(c.header.at("X") == std::vector<std::string>{"1"});
  CHECK(c.interval_ns == std::chrono::nanoseconds(10s).count());
  CHECK(c.timeout_ns == std::chrono::nanoseconds(2s).count());
  CHECK(c.deregister_after_ns == std::chrono::nanoseconds(90min).count());
  CHECK(r.definition.checks[1].success_before_passing == 2);
  CHECK(r.definition.checks[2].args.size() == 1);
}

// The agent keeps the token of a registration, because it later updates the catalog on behalf of
// that token.
TEST_CASE("the token of a registration: that of the request, else that of its body") {
  const std::string service = "/v1/agent/service/register", check = "/v1/agent/check/register";
  const std::string body = R"({"Name":"web","Token":"in-body","Check":{"TTL":"1s","Token":"of-check"}})";
  const auto in_body = agent_requested<agent::register_service>("PUT", service, body).definition;
  CHECK(in_body.token == "in-body");
  CHECK(in_body.checks.at(0).token == "of-check");
  CHECK(agent_requested<agent::register_service>("PUT", service, body, {{"X-Consul-Token", "t"}}).definition.token ==
        "t");
  CHECK(agent_requested<agent::register_service>("PUT", service + "?token=q", body).definition.token == "q");
  const std::string alone = R"({"Name":"c","TTL":"1s"})";
  CHECK(agent_requested<agent::register_check>("PUT", check, alone).definition.token.empty());
  CHECK(agent_requested<agent::register_check>("PUT", check, alone, {{"Authorization", "Bearer b"}}).definition.token ==
        "b");
  CHECK(agent_requested<agent::node_maintenance>("PUT", "/v1/agent/maintenance?enable=true&token=m").token == "m");
  // It becomes a header of another request.
  refuses("PUT", service, R"({"Name":"web","Token":"a\r\nX-Consul-Token: b"})", 400, "Invalid Token");
}

TEST_CASE("an empty check of a service is ignored") {
  CHECK(agent_requested<agent::register_service>("PUT", "/v1/agent/service/register", R"({"Name":"web","Check":{}})")
            .definition.checks.empty());
  CHECK(agent_requested<agent::register_service>("PUT", "/v1/agent/service/register", R"({"Name":"web","Check":null})")
            .definition.checks.empty());
  CHECK_FALSE(agent_requested<agent::register_service>(
                  "PUT", "/v1/agent/service/register?replace-existing-checks=false", R"({"Name":"web"})")
                  .replace_existing_checks);
}

TEST_CASE("checks: the ID is the name unless given, in one of two ways") {
  CHECK(agent_requested<agent::register_check>("PUT", "/v1/agent/check/register", R"({"Name":"c","TTL":"1s"})")
            .definition.id == "c");
  CHECK(agent_requested<agent::register_check>("PUT", "/v1/agent/check/register",
                                               R"({"Name":"c","CheckID":"d","TTL":"1s"})")
            .definition.id == "d");
  CHECK(agent_requested<agent::register_check>("PUT", "/v1/agent/check/register",
                                               R"({"Name":"c","ID":"e","CheckID":"d","TTL":"1s"})")
            .definition.id == "e");
}

TEST_CASE("updates of checks") {
  const auto pass = agent_requested<agent::update_check>("PUT", "/v1/agent/check/pass/service:web?note=all+well");
  CHECK(pass.id == "service:web");
  CHECK(pass.status == "passing");
  CHECK(pass.output == "all well");
  CHECK(agent_requested<agent::update_check>("PUT", "/v1/agent/check/warn/c").status == "warning");
  CHECK(agent_requested<agent::update_check>("PUT", "/v1/agent/check/fail/c").status == "critical");
  CHECK(agent_requested<agent::update_check>("PUT", "/v1/agent/check/update/c", R"({"Status":"warning","Output":"o"})")
            .output == "o");
  refuses("PUT", "/v1/agent/check/update/c", R"({"Status":"Passing"})", 400, "Invalid check status: 'Passing'");
}

TEST_CASE("gRPC checks are taken") {
  const auto r = agent_requested<agent::register_check>(
      "PUT", "/v1/agent/check/register", R"({"Name":"c","GRPC":"x:1/s","GRPCUseTLS":true,"Interval":"1s"})");
  CHECK(r.definition.grpc == "x:1/s");
  CHECK(r.definition.grpc_use_tls);
  CHECK(agent::kind_of(r.definition) == agent::check_kind::grpc);
  CHECK(agent::name_of(agent::check_kind::grpc) == "grpc");
}

TEST_CASE("aliases of other nodes are taken") {
  const auto r = agent_requested<agent::register_check>("PUT", "/v1/agent/check/register",
                                                        R"({"Name":"c","AliasNode":"other","AliasService":"web"})");
  CHECK(r.definition.alias_node == "other");
  CHECK(r.definition.alias_service == "web");
}

TEST_CASE("agent requests that are refused, in the reference's words") {
  refuses("PUT", "/v1/agent/service/register", "{}", 400, "Missing service name");
  refuses("PUT", "/v1/agent/service/register", R"({"Nme":"web"})", 400,
          "Request decode failed: json: unknown field \"Nme\"");
  for (const auto* ignored :
       {"ServiceID", "service_id", "ProxyHTTP", "ProxyGRPC"}) // clients send them, Consul ignores them
    CHECK(agent_requested<agent::register_service>("PUT", "/v1/agent/service/register",
                                                   std::string(R"({"Name":"a","Check":{"TTL":"30s",")") + ignored +
                                                       R"(":"a"}})")
              .definition.checks.size() == 1);
  refuses("PUT", "/v1/agent/service/register", R"({"Name":"web","Service":"web"})", 400,
          "Request decode failed: json: unknown field \"Service\"");
  refuses("PUT", "/v1/agent/service/deregister/", "", 500, "ServiceID missing");
  refuses("PUT", "/v1/agent/service/maintenance/", "", 400, "Missing service ID");
  refuses("PUT", "/v1/agent/service/maintenance/web", "", 400, "Missing value for enable");
  refuses("PUT", "/v1/agent/maintenance?enable=maybe", "", 400, "Invalid value for enable: \"maybe\"");
  refuses("PUT", "/v1/agent/check/register", R"({"TTL":"1s"})", 400, "Missing check name");
  refuses("PUT", "/v1/agent/check/register", R"({"Name":"c","Status":"bogus"})", 400, "Bad check status");
  refuses("PUT", "/v1/agent/check/register", R"({"Name":"c","DockerContainerID":"x","Interval":"1s"})", 400,
          "Invalid check: Docker checks are not supported by this server; a script check that calls 'docker exec' does "
          "the same");
  refuses("PUT", "/v1/agent/check/deregister/", "", 500, "CheckID missing");
  refuses("GET", "/v1/agent/health/service/id/", "", 500, "Bad request: Missing serviceID");
  refuses("PUT", "/v1/event/fire/", "", 400, "Missing name");
  refuses("PUT", "/v1/event/fire/e?dc=elsewhere", "", 500, "No path to datacenter");
  refuses("GET", "/v1/event/list?wait=x", "", 400, "Invalid wait time");
  refuses("GET", "/v1/event/list?index=x", "", 400, "Invalid index");
}

TEST_CASE("an agent rejects namespaces, and other errors take precedence where they do in Consul") {
  constexpr auto no_namespaces =
      "Bad request: Invalid query parameter: \"ns\" - Namespaces are a Consul Enterprise feature";
  for (const auto* path : {"/v1/agent/services", "/v1/agent/checks", "/v1/agent/service/w",
                           "/v1/agent/health/service/id/w", "/v1/agent/health/service/name/w"})
    refuses("GET", std::string(path) + "?ns=x", "", 400, no_namespaces);
  for (const auto* path : {"/v1/agent/service/deregister/w", "/v1/agent/check/deregister/c", "/v1/agent/check/pass/c",
                           "/v1/agent/check/warn/c", "/v1/agent/check/fail/c"})
    refuses("PUT", std::string(path) + "?ns=x", "", 400, no_namespaces);
  refuses("PUT", "/v1/agent/service/maintenance/w?ns=x&enable=true", "", 400, no_namespaces);
  refuses("PUT", "/v1/agent/service/maintenance/w?ns=x&enable=maybe", "", 400, "Invalid value for enable: \"maybe\"");
  refuses("PUT", "/v1/agent/check/update/c?ns=x", R"({"Status":"passing"})", 400, no_namespaces);
  refuses("PUT", "/v1/agent/check/update/c?ns=x", "{", 400, "Request decode failed: unexpected EOF");
  refuses("PUT", "/v1/agent/check/update/c?ns=x", R"({"Status":"x"})", 400, "Invalid check status: 'x'");
  refuses("GET", "/v1/agent/service/w?index=abc", "", 400, "Invalid index");
  refuses("PUT", "/v1/event/fire/e?dc=nowhere&node=(", "", 500,
          "Invalid node filter: error parsing regexp: missing closing ): `(`");
}

TEST_CASE("members of checks that must have the right type, though they are ignored") {
  for (const auto* member : {"ServiceID", "service_id", "ProxyHTTP", "ProxyGRPC"})
    CHECK(refusal_to("PUT", "/v1/agent/service/register",
                     std::string(R"({"Name":"a","Check":{"TTL":"30s",")") + member + R"(":{}}})")
              .status == 400);
  // Durations that are neither text nor number count as missing.
  CHECK(agent_requested<agent::register_check>("PUT", "/v1/agent/check/register",
                                               R"({"Name":"c","TTL":"30s","Interval":[],"Timeout":{}})")
            .definition.ttl_ns == 30'000'000'000);
  CHECK(refusal_to("PUT", "/v1/agent/check/register", R"({"Name":"c","TTL":"30s","Interval":""})").status == 400);
}

TEST_CASE("how long a reader of services and events waits") {
  CHECK(agent_requested<agent::list_events>("GET", "/v1/event/list").wait == 10min);
  CHECK(agent_requested<agent::list_events>("GET", "/v1/event/list?wait=3s&index=18446744073709551615").wait == 3s);
  CHECK(agent_requested<agent::list_events>("GET", "/v1/event/list?wait=30m").wait == 10min);
  CHECK(agent_requested<agent::read_service>("GET", "/v1/agent/service/web?hash=ab&wait=2s").hash == "ab");
}

TEST_CASE("an event carries its payload and its filters") {
  const auto e =
      agent_requested<agent::fire_event>("PUT", "/v1/event/fire/deploy?node=n&service=s&tag=t", "payload").event;
  CHECK(e.id == fresh_uuid);
  CHECK(e.name == "deploy");
  CHECK(e.payload == "payload");
  const auto r = render_agent({agent::fire_event{e}}, agent::event_fired{e}, {});
  CHECK(r.body == R"({"ID":"5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01","Name":"deploy","Payload":"cGF5bG9hZA==",)"
                  R"("NodeFilter":"n","ServiceFilter":"s","TagFilter":"t","Version":1,"LTime":0})");
  const auto list = render_agent({agent::list_events{}}, agent::event_rows{}, {});
  CHECK(list.body == "[]");
  CHECK(header(list, "X-Consul-Index") == "1");
}

TEST_CASE("health of a service: code, reason and body") {
  const auto shown = [](bool by_id, bool text, std::vector<agent::health_of_service> list) {
    return render_agent({agent::service_health{"web", by_id}, text}, agent::health_rows{std::move(list)}, {});
  };
  CHECK(shown(true, false, {health_of("passing")}).status == 200);
  CHECK(shown(true, false, {health_of("warning")}).status == 429);
  CHECK(shown(true, false, {health_of("critical")}).status == 503);
  CHECK(shown(true, false, {health_of("maintenance")}).status == 503);
  const auto worst = shown(false, true, {health_of("passing"), health_of("warning"), health_of("passing")});
  CHECK(worst.status == 429);
  CHECK(worst.body == "warning");
  CHECK(worst.content_type == "text/plain");
  const auto unknown = shown(true, false, {});
  CHECK(unknown.status == 404);
  CHECK(header(unknown, "X-Consul-Reason") == "ServiceId web not found");
  CHECK(unknown.body == R"({"AggregatedStatus":"critical","Service":null,"Checks":null})");
  CHECK(shown(false, false, {}).body == "[]");
  CHECK(std::get<agent_request>(ask("GET", "/v1/agent/health/service/name/web?format=text").action).text);
  CHECK(std::get<agent_request>(ask("GET", "/v1/agent/health/service/name/web", {}, {{"Accept", "text/plain"}}).action)
            .text);
  CHECK_FALSE(std::get<agent_request>(ask("GET", "/v1/agent/health/service/name/web").action).text);
}

TEST_CASE("what the agent shows of its services") {
  auto s = std::make_shared<state::service_record>();
  s->id = "w1";
  s->service = "web";
  s->port = 80;
  const std::string members = R"("ID":"w1","Service":"web","Tags":[],"Meta":{},"Port":80,"Address":"",)"
                              R"("Weights":{"Passing":1,"Warning":1},"EnableTagOverride":false)";
  CHECK(render_agent({agent::list_services{}}, agent::service_rows{{s}}, {}).body == "{\"w1\":{" + members + "}}");
  CHECK(render_agent({agent::list_services{}}, agent::service_rows{}, {}).body == "{}");
  const auto one = render_agent({agent::read_service{"w1", "", 0s}}, agent::service_row{s, "ab"}, {});
  CHECK(one.body == "{" + members + R"(,"ContentHash":"ab"})");
  CHECK(header(one, "X-Consul-ContentHash") == "ab");
  const auto ok = render_agent({agent::deregister_service{"w1"}}, agent::accepted{}, {});
  CHECK(ok.status == 200);
  CHECK(ok.body.empty());
  CHECK(ok.content_type.empty());
}
