// `?filter` from the query to the remaining rows (docs/contract/07, docs/reference/http-extensions.md).

#include "protocol/http/reading/filtering.hpp"
#include "tests/unit/protocol/http/filtered_rows.hpp"

using namespace belay;
using namespace belay::http;

namespace {

/// The response to such a read that found the data.
template <class Data>
response answered(const std::string& path, std::string_view filter, Data data) {
  const auto p = ask("GET", target(path, filter));
  INFO(path << " " << filter);
  if (const auto* r = std::get_if<response>(&p.action))
    INFO(r->status << " " << r->body);
  REQUIRE(std::holds_alternative<read_request>(p.action));
  return answer_read(std::get<read_request>(p.action), {log_index{42}, std::move(data)}, {}, p.options);
}

state::node_ptr node(const std::string& name, const std::string& rack) {
  auto n = std::make_shared<state::node_record>();
  n->id = "id-" + name;
  n->node = name;
  n->address = "10.0.0.1";
  n->datacenter = "dc1";
  n->meta = state::string_map{{"rack", rack}};
  n->modify_index = log_index{7};
  return n;
}

state::service_instances two_instances() {
  return {{{node("n1", "1"), service("db1", 5432), {check("a", "passing"), check("b", "warning")}},
           {node("n2", "2"), service("db2", 5433), {check("c", "passing")}}}};
}

} // namespace

TEST_CASE("nodes and the services of one") {
  const state::nodes both{{node("n1", "1"), node("n2", "2")}};
  const auto r = answered("/v1/catalog/nodes", "Meta.rack == 2", both);
  CHECK(!shows(r, "n1"));
  CHECK(shows(r, "n2"));
  CHECK(header(r, "X-Consul-Index") == "42");
  CHECK(answered("/v1/catalog/nodes", "Node == n3", both).body == "[]");
  CHECK(answered("/v1/catalog/nodes", "Node == n3", both).status == 200);

  const state::node_services services{node("n1", "1"), {service("db1", 5432), service("db2", 5433)}};
  const auto one = answered("/v1/catalog/node/n1", "Meta.role == primary", services);
  CHECK(shows(one, "\"Node\":\"n1\""));
  CHECK(shows(one, "db1"));
  CHECK(!shows(one, "db2"));
  CHECK(answered("/v1/catalog/node/x", "Port == 1", state::node_services{}).body == "null");
}

TEST_CASE("every field of a service's row can be filtered") {
  for (const auto* filter :
       {"ID == `id-n1`", "Node == n1", "NodeMeta.rack == 1", "ServiceID == db1", "`t-db1` in ServiceTags",
        "ServicePort == 5432", "ServiceTaggedAddresses.lan.Port == 5432", "ServiceMeta.role matches `^prim`",
        "ServiceMeta.role == primary and Address == `10.0.0.1` and Datacenter == dc1 and ServiceName == db and "
        "ServiceKind == \"\" and ServiceAddress == \"\" and ServiceWeights.Passing == 3 and ServiceWeights.Warning == "
        "1 "
        "and ServiceEnableTagOverride == false and TaggedAddresses is empty and "
        "ServiceProxy.DestinationServiceName == web and ServiceProxy.Upstreams.DestinationName == up and "
        "ServiceProxy.Upstreams.LocalBindPort == 1234 and ServiceProxy.Expose.Checks == true and "
        "ServiceConnect.Native == true"}) {
    INFO(filter);
    const auto r = answered("/v1/catalog/service/db", filter, two_instances());
    CHECK(shows(r, "\"ServiceID\":\"db1\""));
    CHECK(!shows(r, "\"ServiceID\":\"db2\""));
  }
}

TEST_CASE("health by node, service and check") {
  for (const auto* filter : {"Node.Node == n1", "Node.Meta.rack != 2", "Service.Port == 5432",
                             "p in Service.Tags and "
                             "`t-db1` in Service.Tags",
                             "Checks.Status == warning", "Checks.CheckID == a", "`ct-b` in Checks.ServiceTags",
                             "Service.TaggedAddresses.lan.Port == 5432",
                             "Service.ID == db1 and Service.Weights.Passing == 3 and Service.Connect.Native == true"}) {
    INFO(filter);
    const auto r = answered("/v1/health/service/db", filter, two_instances());
    CHECK(shows(r, "\"Node\":\"n1\""));
    CHECK(!shows(r, "\"Node\":\"n2\""));
    CHECK(header(r, "X-Consul-Effective-Consistency") == "leader");
  }
  const state::checks two{{check("a", "passing"), check("b", "critical")}};
  for (const auto* path : {"/v1/health/node/n", "/v1/health/checks/db", "/v1/health/state/any"}) {
    const auto r = answered(path, "Status == critical", two);
    CHECK(shows(r, "\"CheckID\":\"b\""));
    CHECK(!shows(r, "\"CheckID\":\"a\""));
  }
}

TEST_CASE("sessions and keys, which Consul does not filter") {
  auto first = std::make_shared<state::session_record>(), second = std::make_shared<state::session_record>();
  first->id = "s1";
  first->node_checks = std::vector<std::string>{"serfHealth"};
  first->service_checks = std::vector<std::string>{"svc"};
  first->lock_delay_ns = 15;
  first->create_index = log_index{9};
  second->id = "s2";
  second->behavior = state::session_behavior::remove;
  const state::sessions both{{first, second}};
  for (const auto* filter : {"Behavior == release", "serfHealth in NodeChecks", "ServiceChecks.ID == svc",
                             "ServiceChecks is not empty", "LockDelay == 15", "CreateIndex == 9", "not ID == s2"}) {
    const auto r = answered("/v1/session/list", filter, both);
    INFO(filter);
    CHECK(shows(r, "\"s1\""));
    CHECK(!shows(r, "\"s2\""));
  }

  state::kv_draft locked, open;
  locked.key = "a/1";
  locked.value = make_payload("hello");
  locked.session = "s1";
  locked.flags = 42;
  open.key = "a/2";
  open.value = make_payload("");
  const state::kv_entries keys{{locked, open}};
  for (const auto* filter : {"Session == s1", "Flags == 42", "Value == hello", "ell in Value", "Key matches `1$`"}) {
    const auto r = answered("/v1/kv/a?recurse", filter, keys);
    INFO(filter);
    CHECK(shows(r, "\"a/1\""));
    CHECK(!shows(r, "\"a/2\""));
  }
  // No remaining row is the same as no row.
  CHECK(answered("/v1/kv/a?recurse", "Flags == 1", keys).status == 404);
  CHECK(header(answered("/v1/kv/a?recurse", "Flags == 1", keys), "X-Consul-Index") == "42");
}

TEST_CASE("filters that are wrong are refused before anything is read") {
  const std::string text = "Failed to create boolean expression evaluator: ";
  for (const auto* path : {"/v1/catalog/nodes", "/v1/catalog/service/db", "/v1/catalog/node/n", "/v1/health/node/n",
                           "/v1/health/checks/db", "/v1/health/state/any", "/v1/health/service/db"}) {
    auto r = refusal_to("GET", target(path, "Foo == 1"));
    CHECK(r.status == 500);
    CHECK(r.body == text + "Selector \"Foo\" is not valid");
    CHECK(header(r, "X-Consul-Index") == "1");
    CHECK(header(r, "X-Consul-Knownleader") == "false");
    r = refusal_to("GET", target(path, "32 == 32"));
    CHECK(r.body == text + R"(1:4 (3): no match found, expected: "in", "not" or [ \t\r\n])");
    // Indexes are not fields in Consul.
    CHECK(refusal_to("GET", target(path, "ModifyIndex == 7")).body == text + "Selector \"ModifyIndex\" is not valid");
    CHECK(std::holds_alternative<read_request>(ask("GET", std::string(path) + "?filter=").action));
  }
  for (const auto* path : {"/v1/session/list", "/v1/kv/a?recurse"}) {
    const auto r = refusal_to("GET", target(path, "Foo == 1"));
    CHECK(r.status == 400);
    CHECK(r.body == text + "Selector \"Foo\" is not valid");
  }
  CHECK(refusal_to("GET", target("/v1/catalog/nodes?dc=other", "Foo == 1")).body == "No path to datacenter");
}

TEST_CASE("elsewhere a filter is ignored") {
  for (const auto* path : {"/v1/catalog/services", "/v1/kv/a", "/v1/kv/a?keys", "/v1/session/node/n",
                           "/v1/session/info/5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01"}) {
    INFO(path);
    const auto p = ask("GET", target(path, "Foo =="));
    CHECK(std::holds_alternative<read_request>(p.action));
    CHECK(p.options.filter == nullptr);
  }
}
