#include "tests/cluster/cluster_fixture.hpp"

#include <fstream>

using namespace belay::harness;

namespace {

const std::string master = "f0000000-0000-4000-8000-00000000cafe", of_requests = "f0000000-0000-4000-8000-0000000000de",
                  agent_secret = "f0000000-0000-4000-8000-0000000000a9",
                  emergency = "f0000000-0000-4000-8000-0000000000ae";

boost::json::object with_acls() {
  return {{"acl", boost::json::object{{"enabled", true},
                                      {"default_policy", "deny"},
                                      {"enable_token_persistence", true},
                                      {"tokens", boost::json::object{{"master", master},
                                                                     {"default", of_requests},
                                                                     {"agent", agent_secret},
                                                                     {"agent_master", emergency}}}}},
          {"telemetry", boost::json::object{{"prometheus_retention_time", "1h"}}},
          {"log_level", "TRACE"}};
}

/// Sends a request with a token in its header.
http_reply ask(server_node& n, const std::string& method, const std::string& target, const std::string& token,
               const std::string& body = "") {
  return exchange(n.http_port(), {method, target, {{"X-Consul-Token", token}}, body, false}, milliseconds{10000});
}

std::unique_ptr<server_cluster> cluster_with_acls(std::size_t nodes) {
  auto cluster = std::make_unique<server_cluster>(server_command::from_environment(BELAY_BINARY_DIR),
                                                  cluster_options{nodes, "node", with_acls()});
  cluster->start_all();
  for (std::size_t i = 0; i < nodes; ++i)
    REQUIRE(eventually(milliseconds{60000},
                       [&] { return ask(cluster->node(i), "GET", "/v1/acl/tokens", master).status == 200; }));
  return cluster;
}

std::string secret_in(const std::string& json) {
  return std::string(boost::json::parse(json).as_object().at("SecretID").as_string());
}

} // namespace

// Reading a log, a graph or a bug report must not give anyone the permissions of the tokens in use.
TEST_CASE("no token is in the log, in metrics or in the agent's data about itself", "[acl]") {
  auto cluster = cluster_with_acls(1);
  auto& node = cluster->node(0);
  REQUIRE(
      ask(node, "PUT", "/v1/acl/policy", master, R"({"Name":"all","Rules":"key_prefix \"\" { policy = \"write\" }"})")
          .status == 200);
  const auto made = ask(node, "PUT", "/v1/acl/token", master, R"({"Policies":[{"Name":"all"}]})");
  REQUIRE(made.status == 200);
  const auto secret = secret_in(made.body);
  CHECK(ask(node, "PUT", "/v1/kv/a", secret, "1").body == "true");
  CHECK(node.get("/v1/kv/a?token=" + secret).status == 200);
  CHECK(node.get("/v1/kv/a?wait=1ms&token=" + secret + "&index=1").status == 200);
  CHECK(node.get("/v1/acl/token/self?token=" + secret).status == 200);
  const std::string at_run_time = "f0000000-0000-4000-8000-0000000000af";
  CHECK(ask(node, "PUT", "/v1/agent/token/agent", master, "{\"Token\":\"" + at_run_time + "\"}").status == 200);
  CHECK(ask(node, "PUT", "/v1/agent/token/nothing", master, "{\"Token\":\"" + at_run_time + "\"}").status != 200);
  CHECK(ask(node, "PUT", "/v1/acl/token", master, "{\"SecretID\":\"" + secret + "\",").status == 400);
  CHECK(ask(node, "PUT", "/v1/agent/reload", emergency).status == 200);

  const auto self = ask(node, "GET", "/v1/agent/self", master);
  REQUIRE(self.status == 200);
  CHECK(self.body.find("\"ACLMasterToken\":\"hidden\"") != std::string::npos);
  const auto counted = ask(node, "GET", "/v1/agent/metrics", emergency);
  REQUIRE(counted.status == 200);
  const auto prometheus = ask(node, "GET", "/v1/agent/metrics?format=prometheus", emergency);
  REQUIRE(prometheus.status == 200);
  const auto log = file_text(node.log_file());
  REQUIRE(log.find("/v1/kv/a?token=<hidden>") != std::string::npos);
  for (const auto& each : {secret, master, of_requests, agent_secret, emergency, at_run_time}) {
    INFO(each);
    CHECK(self.body.find(each) == std::string::npos);
    CHECK(counted.body.find(each) == std::string::npos);
    CHECK(prometheus.body.find(each) == std::string::npos);
    CHECK(log.find(each) == std::string::npos);
  }
}

TEST_CASE("a token created at one server is valid at the others at once, and at none after its deletion", "[acl]") {
  auto cluster = cluster_with_acls(3);
  REQUIRE(
      ask(cluster->node(0), "PUT", "/v1/acl/policy", master,
          R"({"Name":"some","Rules":"key_prefix \"app/\" { policy = \"write\" } agent_prefix \"\" { policy = \"read\" }"})")
          .status == 200);
  for (int round = 0; round < 10; ++round) {
    auto& first = cluster->node(static_cast<std::size_t>(round) % 3);
    const auto made = ask(first, "PUT", "/v1/acl/token", master, R"({"Policies":[{"Name":"some"}]})");
    REQUIRE(made.status == 200);
    const auto secret = secret_in(made.body);
    const auto accessor = std::string(boost::json::parse(made.body).as_object().at("AccessorID").as_string());
    for (std::size_t i = 0; i < 3; ++i) {
      auto& node = cluster->node(i);
      CHECK(ask(node, "GET", "/v1/agent/self", secret).status == 200);
      CHECK(ask(node, "PUT", "/v1/kv/app/a", secret, "1").body == "true");
      CHECK(ask(node, "GET", "/v1/kv/app/a", secret).status == 200);
      CHECK(ask(node, "GET", "/v1/kv/other", secret).body == "Permission denied");
    }
    REQUIRE(ask(first, "DELETE", "/v1/acl/token/" + accessor, master).body == "true");
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(ask(cluster->node(i), "PUT", "/v1/kv/app/a", secret, "2").body == "ACL not found");
      CHECK(ask(cluster->node(i), "GET", "/v1/kv/app/a", secret).body == "ACL not found");
    }
  }
}

TEST_CASE("tokens that a client has set survive a restart; another bootstrap needs the operator's file", "[acl]") {
  auto cluster = cluster_with_acls(1);
  auto& node = cluster->node(0);
  CHECK(node.get("/v1/agent/self").status == 403); // acl.tokens.default is not a token
  REQUIRE(ask(node, "PUT", "/v1/agent/token/default", master, "{\"Token\":\"" + master + "\"}").status == 200);
  CHECK(node.get("/v1/agent/self").status == 200);
  CHECK(node.stop().signal == 0);
  node.start();
  REQUIRE(eventually(milliseconds{60000}, [&] { return node.get("/v1/acl/tokens").status == 200; }));
  CHECK(node.get("/v1/agent/self").status == 200);

  const auto again = node.put("/v1/acl/bootstrap", "");
  CHECK(again.status == 403);
  const std::string before_index = "reset index: ";
  const auto at = again.body.find(before_index);
  REQUIRE(at != std::string::npos);
  const auto file = node.data_folder() / "acl-bootstrap-reset";
  std::ofstream(file) << again.body.substr(at + before_index.size(), again.body.size() - at - before_index.size() - 1);
  const auto made = node.put("/v1/acl/bootstrap", "");
  INFO(made.body);
  REQUIRE(made.status == 200);
  CHECK(ask(node, "GET", "/v1/acl/tokens", secret_in(made.body)).status == 200);
  CHECK(eventually(milliseconds{10000}, [&] { return !std::filesystem::exists(file); }));
  CHECK(node.put("/v1/acl/bootstrap", "").status == 403);
}
