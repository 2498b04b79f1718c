// Requests to catalog and health (docs/contract/07 and 08).

#include "tests/unit/protocol/http/requested.hpp"

using namespace belay;
using namespace belay::http;

TEST_CASE("a registration with everything") {
  const auto c = written<state::catalog_register>("PUT", "/v1/catalog/register", R"({
    "Datacenter":"dc1","ID":"40e4a748-2192-161a-0510-9bf59fe950b5","Node":"x","Address":"10.0.0.1","NodeMeta":{"rack":"7"},
    "TaggedAddresses":{"lan":"10.0.0.1"},"SkipNodeUpdate":true,"Token":"t",
    "Service":{"Service":"web","Tags":["v1"],"Port":80,"Meta":{"m":"1"},"EnableTagOverride":true,"Kind":"connect-proxy",
               "Proxy":{"DestinationServiceName":"<w>"},"Connect":{"Native":true}},
    "Check":{"Name":"one","Status":"passing"},
    "Checks":[{"CheckID":"two","ServiceID":"web","Output":"o","Definition":{"TCP":"h:1","Timeout":2000000000}}]})");
  CHECK(c.node.id == "40e4a748-2192-161a-0510-9bf59fe950b5");
  CHECK(c.node.node == "x");
  CHECK(c.node.datacenter == "dc1");
  CHECK(c.node.meta->at("rack") == "7");
  CHECK(c.node.tagged_addresses->at("lan") == "10.0.0.1");
  CHECK(c.skip_node_update);
  REQUIRE(c.service);
  CHECK(c.service->node == "x");
  CHECK(c.service->port == 80);
  CHECK(c.service->kind == "connect-proxy");
  CHECK(c.service->enable_tag_override);
  CHECK(c.service->weights.passing == 1);
  CHECK(c.service->proxy_json == R"({"DestinationServiceName":"\u003cw\u003e","MeshGateway":{},"Expose":{}})");
  CHECK(c.service->connect_json == R"({"Native":true})");
  REQUIRE(c.checks.size() == 2);
  CHECK(c.checks[0].check_id == "two");
  CHECK(c.checks[0].type == "tcp");
  CHECK(c.checks[0].definition_json == R"({"Timeout":"2s","TCP":"h:1"})");
  CHECK(c.checks[1].name == "one");
  CHECK(c.checks[1].definition_json == "{}");
}

TEST_CASE("definitions are normalised") {
  struct row {
    const char *given, *shown, *type;
  };
  for (const auto& t :
       {row{"{}", "{}", ""}, row{"null", "{}", ""},
        row{R"({"HTTP":"h","Method":"","Interval":"10s","Timeout":0,"DeregisterCriticalServiceAfter":"1m"})",
            R"({"Interval":"10s","DeregisterCriticalServiceAfter":"1m0s","HTTP":"h"})", "http"},
        row{R"({"tcp":"t","tlsskipverify":true})", R"({"TLSSkipVerify":true,"TCP":"t"})", "tcp"},
        row{R"({"TTL":"15s"})", R"({"TTL":15000000000})", "ttl"},
        row{R"({"TCP":"t","Interval":[],"Timeout":true})", R"({"TCP":"t"})", "tcp"}, // durations are texts or numbers
        row{R"({"TCP":"t","Interval":"10s","IntervalDuration":"x"})", R"({"Interval":"10s","TCP":"t"})", "tcp"},
        row{R"({"ScriptArgs":["a","b"],"OutputMaxSize":4096})", R"({"OutputMaxSize":4096,"ScriptArgs":["a","b"]})",
            "script"},
        row{R"({"GRPC":"g","GRPCUseTLS":true})", R"({"GRPC":"g","GRPCUseTLS":true})", "grpc"}}) {
    const auto body = std::string(R"({"Node":"x","Check":{"Name":"c","Definition":)") + t.given + "}}";
    const auto c = written<state::catalog_register>("PUT", "/v1/catalog/register", body).checks.at(0);
    CHECK(c.definition_json == t.shown);
    CHECK(c.type == t.type);
  }
}

TEST_CASE("deregistration") {
  const auto c = written<state::catalog_deregister>("PUT", "/v1/catalog/deregister",
                                                    R"({"Node":"x","ServiceID":"s","CheckID":"c","Address":"old"})");
  CHECK(c.node == "x");
  CHECK(c.service_id == "s");
  CHECK(c.check_id == "c");
  CHECK(refusal_to("PUT", "/v1/catalog/deregister", R"({"Node":"x","Datacenter":"other"})").body ==
        "No path to datacenter");
  CHECK(refusal_to("PUT", "/v1/catalog/deregister", R"({"ServiceID":"s"})").body == "Must provide node");
  CHECK(refusal_to("PUT", "/v1/catalog/deregister", R"({"Node":1})").body ==
        "Request decode failed: json: cannot unmarshal number into Go struct field .Node of type string");
}

TEST_CASE("registrations that cannot be read") {
  struct row {
    const char* body;
    int status;
    const char* text;
  };
  for (const auto& t :
       {row{"", 400, "Request decode failed: EOF"}, row{"{\"Node\":", 400, "Request decode failed: unexpected EOF"},
        row{R"({"Bogus":1})", 400, "Request decode failed: json: unknown field \"Bogus\""},
        row{R"({"Service":{"Bogus":1}})", 400, "Request decode failed: json: unknown field \"Bogus\""},
        row{R"({"Check":{"Bogus":1}})", 400, "Request decode failed: json: unknown field \"Bogus\""},
        row{R"({"Namespace":"x"})", 400,
            "Request decode failed: json: unknown field \"Namespace\" - Namespaces are a Consul Enterprise feature"},
        row{R"({"Service":{"Port":"80"}})", 400,
            "Request decode failed: json: cannot unmarshal string into Go struct field RegisterRequest.Service.Port of "
            "type int"},
        row{R"({"Node":"x","Datacenter":"nowhere"})", 500, "No path to datacenter"}}) {
    const auto r = refusal_to("PUT", "/v1/catalog/register", t.body);
    CHECK(r.status == t.status);
    CHECK(r.body == t.text);
  }
}

// Go's client sends all members of its structs: unknown ones, and zeros for what is not set.
TEST_CASE("a registration of a newer Go client is taken") {
  const auto w = written<state::catalog_register>(
      "PUT", "/v1/catalog/register",
      R"({"Node":"e","Address":"10.0.0.1","Service":{"Service":"ww","Weights":{"Passing":0,"Warning":0}},)"
      R"("Checks":[{"CheckID":"c","Name":"c","Status":"passing",)"
      R"("Definition":{"TLSServerName":"x","UDP":"","Interval":"10s"}}]})");
  REQUIRE(w.service);
  CHECK(w.service->weights == state::service_weights{1, 1});
  REQUIRE(w.checks.size() == 1);
  CHECK(w.checks.front().definition_json == R"({"Interval":"10s"})");
  for (const auto& [given, kept] : {std::pair{"5,\"Warning\":0", state::service_weights{5, 0}},
                                    {"1,\"Warning\":-1", {1, 1}},
                                    {"65536,\"Warning\":1", {1, 1}}}) {
    const auto r = written<state::catalog_register>("PUT", "/v1/catalog/register",
                                                    std::string(R"({"Node":"e","Address":"10.0.0.1","Service":)") +
                                                        R"({"Service":"w","Weights":{"Passing":)" + given + "}}}");
    CHECK(r.service->weights == kept);
  }
}

TEST_CASE("a wrong filter takes precedence over a wrong passing, and gateways have no filter") {
  for (const auto* path : {"/v1/health/service/web", "/v1/health/connect/web", "/v1/health/ingress/web"}) {
    CHECK(refusal_to("GET", std::string(path) + "?passing=maybe").status == 400);
    CHECK(refusal_to("GET", std::string(path) + "?passing=maybe&filter=((").status == 500);
    CHECK(std::get<state::health_service>(read_requested("GET", std::string(path) + "?passing").query).passing_only);
    CHECK_FALSE(
        std::get<state::health_service>(read_requested("GET", std::string(path) + "?passing=0").query).passing_only);
  }
  CHECK(std::holds_alternative<read_request>(ask("GET", "/v1/catalog/gateway-services/g?filter=((").action));
  CHECK(refusal_to("GET", "/v1/catalog/connect/g?filter=((").status == 500);
}

TEST_CASE("reads of catalog and health carry their selections") {
  const auto nodes = std::get<state::catalog_nodes>(
      read_requested("GET", "/v1/catalog/nodes?node-meta=a:b:c&node-meta=d&node-meta=e:1").query);
  CHECK(nodes.node_meta == state::string_map{{"a", "b:c"}, {"d", ""}, {"e", "1"}});
  const auto service =
      std::get<state::catalog_service>(read_requested("GET", "/v1/catalog/service/web?tag=a&tag=b&filter=").query);
  CHECK(service.service == "web");
  CHECK(service.tags == std::vector<std::string>{"a", "b"});
  CHECK(std::holds_alternative<state::catalog_services>(read_requested("GET", "/v1/catalog/services?filter=x").query));
  CHECK(std::get<state::catalog_node>(read_requested("GET", "/v1/catalog/node/x").query).node == "x");
  CHECK_FALSE(std::get<state::catalog_node>(read_requested("GET", "/v1/catalog/node/x").query).as_list);
  const auto listed = read_requested("GET", "/v1/catalog/node-services/x");
  CHECK(std::get<state::catalog_node>(listed.query).node == "x");
  CHECK(std::get<state::catalog_node>(listed.query).as_list);
  for (const auto* path : {"/v1/catalog/connect/web", "/v1/catalog/gateway-services/web"})
    CHECK(std::get<state::catalog_service>(read_requested("GET", path).query).of_mesh);
  for (const std::string kind : {"connect", "ingress"}) {
    const auto q = std::get<state::health_service>(read_requested("GET", "/v1/health/" + kind + "/web?passing").query);
    CHECK(q.service == "web");
    CHECK(q.of_mesh);
    CHECK(q.passing_only);
  }
  CHECK(std::get<state::health_node>(read_requested("GET", "/v1/health/node/x").query).node == "x");
  CHECK(std::get<state::health_checks>(read_requested("GET", "/v1/health/checks/web").query).service == "web");
  CHECK(std::get<state::health_state>(read_requested("GET", "/v1/health/state/any").query).state == "any");
  struct row {
    const char* query;
    bool passing;
  };
  for (const auto& t : {row{"", false}, row{"?passing", true}, row{"?passing=", true}, row{"?passing=1", true},
                        row{"?passing=0", false}, row{"?passing=False", false}, row{"?passing=TRUE", true}})
    CHECK(std::get<state::health_service>(read_requested("GET", std::string("/v1/health/service/web") + t.query).query)
              .passing_only == t.passing);
}

TEST_CASE("reads of catalog and health with missing or wrong parameters") {
  struct row {
    const char *target, *text;
  };
  for (const auto& t :
       {row{"/v1/catalog/service/", "Missing service name"}, row{"/v1/catalog/node/", "Missing node name"},
        row{"/v1/catalog/node-services/", "Missing node name"}, row{"/v1/health/connect/", "Missing service name"},
        row{"/v1/health/ingress/", "Missing service name"},
        row{"/v1/health/connect/w?passing=x", "Invalid value for ?passing"},
        row{"/v1/health/node/", "Missing node name"}, row{"/v1/health/checks/", "Missing service name"},
        row{"/v1/health/state/", "Missing check state"}, row{"/v1/health/service/", "Missing service name"},
        row{"/v1/health/service/w?passing=abc", "Invalid value for ?passing"},
        row{"/v1/catalog/nodes?wait=abc", "Invalid wait time"}}) {
    const auto r = refusal_to("GET", t.target);
    CHECK(r.status == 400);
    CHECK(r.body == t.text);
  }
}
