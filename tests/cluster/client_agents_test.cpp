// Client agents as processes: what they forward, and what the cluster reports when nodes fail.

#include "tests/cluster/cluster_fixture.hpp"

#include <cstdlib>
#include <iostream>
#include <map>
#include <thread>

using namespace belay::harness;
namespace json = boost::json;
using std::chrono::steady_clock;

namespace {

std::unique_ptr<server_cluster> cluster_with_agents(std::size_t servers, std::size_t agents, std::size_t replicas = 0,
                                                    const json::object& config = {}) {
  raise_file_limit();
  auto cluster = std::make_unique<server_cluster>(server_command::from_environment(BELAY_BINARY_DIR),
                                                  cluster_options{servers, "node", config, replicas, agents});
  cluster->start_all();
  cluster->wait_ready();
  cluster->wait_agents();
  return cluster;
}

/// The state of that node in the catalog: passing, critical, or empty.
std::string health_of(server_node& requested, const std::string& name) {
  const auto reply = requested.get("/v1/health/node/" + name + "?stale", milliseconds{2000});
  if (!reply.ok())
    return "no answer";
  const auto checks = json::parse(reply.body);
  for (const auto& c : checks.as_array())
    if (c.at("CheckID") == "serfHealth")
      return std::string(c.at("Status").as_string());
  return "";
}

std::size_t sessions(server_node& requested) {
  return json::parse(requested.get("/v1/session/list").body).as_array().size();
}

} // namespace

TEST_CASE("a client agent forwards the servers' responses, and keeps its own services", "[client_agents]") {
  auto cluster = cluster_with_agents(1, 1);
  auto& server = cluster->node(0);
  auto& agent = cluster->agent(0);
  REQUIRE(agent.put("/v1/kv/a", "x").body.starts_with("true"));
  CHECK(server.get("/v1/kv/a?raw").body == "x");
  const auto self = json::parse(agent.get("/v1/agent/self").body);
  CHECK(self.at("Config").at("Server") == false);
  CHECK(self.at("Stats").at("consul").at("server") == "false");

  // Its services are in the catalog, under its node, and sessions belong to the node.
  REQUIRE(agent.put("/v1/agent/service/register", R"({"Name":"web","Port":80,"Check":{"TTL":"60s"}})").ok());
  REQUIRE(agent.put("/v1/agent/check/pass/service:web", "").ok());
  const auto passing = [&] {
    return json::parse(server.get("/v1/health/service/web?passing").body).as_array().size() == 1;
  };
  CHECK(eventually(milliseconds{5000}, passing));
  const auto made = json::parse(agent.put("/v1/session/create", "{}").body);
  const auto info = json::parse(server.get("/v1/session/info/" + std::string(made.at("ID").as_string())).body);
  REQUIRE(info.as_array().size() == 1);
  CHECK(info.at(0).at("Node").as_string() == agent.name());

  // Larger than one write, and of unknown length.
  const std::string large(400'000, 'v');
  for (int i = 0; i < 4; ++i)
    REQUIRE(agent.put("/v1/kv/large/" + std::to_string(i), large).body.starts_with("true"));
  CHECK(agent.get("/v1/kv/large/?recurse").body == server.get("/v1/kv/large/?recurse").body);
  const auto archive = agent.get("/v1/snapshot");
  REQUIRE(archive.ok());
  REQUIRE(agent.put("/v1/kv/a", "y").body.starts_with("true"));
  CHECK(agent.put("/v1/snapshot", archive.body).status == 200);
  CHECK(agent.get("/v1/kv/a?raw").body == "x");

  // A restart keeps what was registered through the API; leaving removes the node from the catalog.
  agent.kill_hard();
  agent.start();
  cluster->wait_agents();
  CHECK(json::parse(agent.get("/v1/agent/services").body).as_object().contains("web"));
  CHECK(agent.put("/v1/agent/leave", "").status == 200);
  const auto end = agent.process().wait(milliseconds{10000});
  REQUIRE(end);
  CHECK(end->code == 0);
  CHECK(eventually(milliseconds{5000}, [&] { return health_of(server, agent.name()).empty(); }));
  CHECK(json::parse(server.get("/v1/catalog/service/web").body).as_array().empty());
}

// The leader writes the health of agents to the catalog, and a new leader gives each agent time. So
// neither the end of a leader, nor that of the server in use by an agent, makes an agent critical.
TEST_CASE("a killed agent turns critical within 4 to 8 s, and a killed leader makes no agent critical",
          "[client_agents]") {
  auto cluster = cluster_with_agents(3, 2);
  auto& stays = cluster->agent(0);
  auto& dies = cluster->agent(1);
  REQUIRE(dies.put("/v1/session/create", "{}").ok());
  REQUIRE(sessions(stays) == 1);
  // A paused machine delays it, which is not the leader's fault: the best of three counts.
  milliseconds best{milliseconds::max()};
  for (int attempt = 0; attempt < 3 && best > milliseconds{8000}; ++attempt) {
    const auto killed = steady_clock::now();
    dies.kill_hard();
    const auto critical = [&] { return health_of(cluster->node(0), dies.name()) == "critical"; };
    REQUIRE(eventually(milliseconds{40000}, critical));
    const auto took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - killed);
    std::cout << "critical after " << took.count() << " ms\n";
    CHECK(took >= milliseconds{3900}); // not sooner than it could have sent another heartbeat
    best = std::min(best, took);
    CHECK(eventually(milliseconds{5000}, [&] { return sessions(stays) == 0; }));
    dies.start();
    cluster->wait_agents();
  }
  CHECK(best <= milliseconds{8000});

  // Every change of that check would be an entry, so its index must stay.
  const auto index_of = [&](const std::string& name) {
    const auto checks = json::parse(stays.get("/v1/health/node/" + name).body);
    for (const auto& c : checks.as_array())
      if (c.at("CheckID") == "serfHealth")
        return c.at("ModifyIndex").as_int64();
    return std::int64_t{0};
  };
  const auto before = std::make_pair(index_of(stays.name()), index_of(dies.name()));
  workload load({stays.http_port(), dies.http_port()}, 4);
  for (int round = 0; round < 2; ++round) {
    const auto leader = cluster->wait_leader();
    cluster->node(leader).kill_hard();
    REQUIRE(load.wait_for_more(200));
    std::this_thread::sleep_for(milliseconds{7000}); // longer than a leader waits for an agent
    cluster->node(leader).start();
    cluster->wait_ready();
  }
  load.stop();
  CHECK(load.violations() == std::vector<std::string>{});
  CHECK(std::make_pair(index_of(stays.name()), index_of(dies.name())) == before);
  check_nothing_lost(*cluster, load);
}

namespace {

/// The members' statuses by name, according to that node.
std::map<std::string, std::int64_t> members_according_to(server_node& requested) {
  std::map<std::string, std::int64_t> out;
  const auto list = json::parse(requested.get("/v1/agent/members").body);
  for (const auto& m : list.as_array()) {
    CHECK(m.at("Tags").at("role").as_string() == (m.at("Port").as_int64() == 0 ? "node" : "consul"));
    out[std::string(m.at("Name").as_string())] = m.at("Status").as_int64();
  }
  return out;
}

} // namespace

TEST_CASE("members are servers and client agents, and a lost one can be forced out", "[client_agents]") {
  auto cluster = cluster_with_agents(1, 2);
  auto& server = cluster->node(0);
  auto& stays = cluster->agent(0);
  auto& dies = cluster->agent(1);
  const std::map<std::string, std::int64_t> all{{server.name(), 1}, {stays.name(), 1}, {dies.name(), 1}};
  CHECK(members_according_to(server) == all);
  CHECK(members_according_to(stays) == all);
  const auto own = json::parse(stays.get("/v1/agent/self").body).at("Member");
  CHECK(own.at("Port") == 0); // as others show it: it does not listen for members
  REQUIRE(dies.put("/v1/agent/service/register", R"({"Name":"web"})").ok());
  // A live one is made to leave, as in Consul: it shows as leaving, objects, and loses nothing.
  REQUIRE(dies.put("/v1/session/create", "{}").ok());
  CHECK(stays.put("/v1/agent/force-leave/" + dies.name(), "").status == 200);
  CHECK(members_according_to(server).at(dies.name()) == 2);
  CHECK(health_of(server, dies.name()) == "passing");
  CHECK(sessions(server) == 1);
  CHECK(eventually(milliseconds{90000}, [&] { return members_according_to(server) == all; }));
  CHECK_FALSE(json::parse(server.get("/v1/catalog/node/" + dies.name()).body)
                  .at("Node")
                  .at("Meta")
                  .as_object()
                  .contains("belay-told-to-leave"));
  CHECK(server.put("/v1/agent/force-leave/nobody", "").body == "agent: No node found with name 'nobody'");

  dies.kill_hard();
  REQUIRE(eventually(milliseconds{20000}, [&] { return health_of(server, dies.name()) == "critical"; }));
  CHECK(members_according_to(server).at(dies.name()) == 4);
  CHECK(stays.put("/v1/agent/force-leave/" + dies.name() + "?prune", "").status == 200);
  CHECK(members_according_to(server) == std::map<std::string, std::int64_t>{{server.name(), 1}, {stays.name(), 1}});
  CHECK(json::parse(server.get("/v1/catalog/service/web").body).as_array().empty());
  std::this_thread::sleep_for(milliseconds{3000}); // the leader compares its members with the catalog
  CHECK(health_of(server, dies.name()).empty());

  dies.start();
  cluster->wait_agents();
  CHECK(members_according_to(server) == all);
  CHECK(eventually(milliseconds{70000},
                   [&] { return json::parse(server.get("/v1/catalog/service/web").body).as_array().size() == 1; }));
}

// The cache as clients see it: hits, changes, only permitted rows, responses without servers.
TEST_CASE("a client agent answers from its cache, and never with another token's data", "[client_agents]") {
  const std::string root = "6d1f1c5e-2d0b-4c0c-9a8a-51f0f3a4b7c9";
  auto cluster = cluster_with_agents(
      1, 1, 0,
      {{"acl",
        json::object{{"enabled", true}, {"default_policy", "allow"}, {"tokens", json::object{{"master", root}}}}}});
  auto& server = cluster->node(0);
  auto& agent = cluster->agent(0);
  const auto received = [](const http_reply& r, const char* name) {
    const auto* value = r.header(name);
    return value == nullptr ? std::string() : *value;
  };
  REQUIRE(agent.put("/v1/agent/service/register", R"({"Name":"web","Port":80})").ok());
  REQUIRE(eventually(milliseconds{5000},
                     [&] { return json::parse(server.get("/v1/health/service/web").body).as_array().size() == 1; }));
  const std::string service = "/v1/health/service/web?cached";
  CHECK(received(agent.get(service), "X-Cache") == "MISS");
  const auto hit = agent.get(service);
  CHECK(received(hit, "X-Cache") == "HIT");
  CHECK(received(hit, "Age") == "0");
  CHECK(hit.body == server.get("/v1/health/service/web").body);

  // A token that may read no service gets none, whether the response is cached or not.
  REQUIRE(server
              .put("/v1/acl/policy?token=" + root,
                   R"({"Name":"blind","Rules":"service_prefix \"\" { policy = \"deny\" }"})")
              .ok());
  const auto made = json::parse(server.put("/v1/acl/token?token=" + root, R"({"Policies":[{"Name":"blind"}]})").body);
  const auto as_blind = service + "&token=" + std::string(made.at("SecretID").as_string());
  for (const auto* cache : {"MISS", "HIT"}) {
    const auto blind = agent.get(as_blind);
    CHECK(blind.body == "[]");
    CHECK(received(blind, "X-Cache") == cache);
  }
  CHECK(agent.get(service).body == hit.body);

  // A change reaches blocked requests, too.
  http_reply waited;
  std::thread waits(
      [&] { waited = agent.get(service + "&wait=20s&index=" + received(hit, "X-Consul-Index"), milliseconds{30000}); });
  std::this_thread::sleep_for(milliseconds{300});
  CHECK(agent.put("/v1/agent/service/register", R"({"Name":"web","Port":81})").ok());
  waits.join();
  REQUIRE(waited.status == 200);
  CHECK(waited.body.find(":81,") != std::string::npos);
  CHECK(received(waited, "X-Cache") == "MISS");
  CHECK(received(agent.get(service), "X-Cache") == "HIT");

  // Without servers the last response stays available, marked as old.
  server.kill_hard();
  http_reply last;
  REQUIRE(eventually(milliseconds{40000}, [&] {
    last = agent.get(service);
    return last.status == 200 && !received(last, "Age").empty() && received(last, "Age") != "0";
  }));
  CHECK(last.body == waited.body);
  server.start();
  CHECK(eventually(milliseconds{60000}, [&] { return received(agent.get(service), "Age") == "0"; }));
}

// The agent's own token may write its node but no service; a registration brings a token that may.
TEST_CASE("services of a client agent are in the catalog on behalf of the token that registered them",
          "[client_agents]") {
  const std::string root = "6d1f1c5e-2d0b-4c0c-9a8a-51f0f3a4b7c9";
  auto cluster = cluster_with_agents(
      1, 1, 0,
      {{"acl", json::object{{"enabled", true},
                            {"default_policy", "deny"},
                            {"tokens", json::object{{"master", root}, {"agent", root}, {"default", root}}}}}});
  auto& server = cluster->node(0);
  auto& agent = cluster->agent(0);
  const auto token_with = [&](const std::string& name, const std::string& rules) {
    REQUIRE(server.put("/v1/acl/policy", json::serialize(json::object{{"Name", name}, {"Rules", rules}})).ok());
    const auto made = server.put("/v1/acl/token", R"({"Policies":[{"Name":")" + name + R"("}]})");
    return std::string(json::parse(made.body).at("SecretID").as_string());
  };
  const auto of_agent = token_with("agents", R"(node_prefix "" { policy = "write" })");
  const auto of_web = token_with("web", R"(service "web" { policy = "write" })");
  REQUIRE(agent.put("/v1/agent/token/agent?token=" + root, R"({"Token":")" + of_agent + R"("})").ok());
  REQUIRE(agent.put("/v1/agent/token/default?token=" + root, R"({"Token":""})").ok());
  const auto in_catalog = [&](const std::string& name) {
    return json::parse(server.get("/v1/health/service/" + name + "?passing").body).as_array().size() == 1;
  };
  CHECK_FALSE(agent.put("/v1/agent/service/register", R"({"Name":"web"})").ok());
  const std::string web = R"({"Name":"web","Check":{"TTL":"60s","Status":"passing"}})";
  REQUIRE(agent.put("/v1/agent/service/register?token=" + of_web, web).ok());
  CHECK(eventually(milliseconds{5000}, [&] { return in_catalog("web"); }));

  // If the agent's own token lacks a permission, the agent reports that and continues with the
  // rest.
  REQUIRE(agent.put("/v1/agent/service/register?token=" + root, R"({"Name":"db","Token":"x"})").ok());
  REQUIRE(eventually(milliseconds{5000}, [&] { return in_catalog("db"); }));
  REQUIRE(server.put("/v1/acl/policy", R"({"Name":"more","Rules":"service \"api\" { policy = \"write\" }"})").ok());
  const auto made = json::parse(server.put("/v1/acl/token", R"({"Policies":[{"Name":"more"}]})").body);
  const auto short_lived = std::string(made.at("SecretID").as_string());
  REQUIRE(agent.put("/v1/agent/service/register?token=" + short_lived, R"({"Name":"api"})").ok());
  REQUIRE(eventually(milliseconds{5000}, [&] { return in_catalog("api"); }));
  CHECK(exchange(server.http_port(),
                 {"DELETE", "/v1/acl/token/" + std::string(made.at("AccessorID").as_string()), {}, "", false},
                 milliseconds{5000})
            .ok());

  // After a restart they come back without a new registration, even if they were removed meanwhile.
  agent.kill_hard();
  REQUIRE(server.put("/v1/catalog/deregister", R"({"Node":")" + agent.name() + R"(","ServiceID":"web"})").ok());
  REQUIRE(server.put("/v1/catalog/deregister", R"({"Node":")" + agent.name() + R"(","ServiceID":"api"})").ok());
  cluster->configure_one(
      1, {{"log_level", "info"},
          {"acl", json::object{
                      {"enabled", true}, {"default_policy", "deny"}, {"tokens", json::object{{"agent", of_agent}}}}}});
  agent.start();
  const auto back = [&] { return json::parse(server.get("/v1/catalog/service/web").body).as_array().size() == 1; };
  CHECK(eventually(milliseconds{20000}, back));
  CHECK(eventually(milliseconds{10000}, [&] {
    const auto log = file_text(agent.log_file());
    return log.find("registration rejected by the catalog") != std::string::npos &&
           log.find("service api") != std::string::npos;
  }));
  // Its token was deleted, but the node belongs to the agent.
  CHECK(agent.put("/v1/agent/service/deregister/web?token=" + of_web, "").ok());
  CHECK(eventually(milliseconds{5000}, [&] { return !back(); }));

  // Nor does a service that never existed block anything else.
  CHECK(agent.put("/v1/agent/service/deregister/api?token=" + root, "").ok());
  CHECK(agent.put("/v1/agent/service/register?token=" + of_web, web).ok());
  CHECK(eventually(milliseconds{5000}, [&] { return back(); }));
}

// Two agents with one name would overwrite each other's services. Both the log of the second agent
// and that of the leader must report it.
TEST_CASE("a node name that is taken is refused, loudly", "[client_agents]") {
  raise_file_limit();
  server_cluster cluster(server_command::from_environment(BELAY_BINARY_DIR),
                         cluster_options{1, "node", {{"log_level", "info"}}, 0, 3});
  auto& server = cluster.node(0);
  auto& first = cluster.agent(0);
  server.start();
  first.start();
  cluster.wait_ready();
  cluster.wait_agents();
  cluster.configure_one(2, {{"log_level", "info"}, {"node_name", first.name()}});
  cluster.configure_one(3, {{"log_level", "info"}, {"node_name", server.name()}});
  for (std::size_t i : {1, 2})
    cluster.agent(i).start();
  const auto times_in = [](server_node& n, const std::string& text) {
    const auto log = file_text(n.log_file());
    std::size_t times = 0;
    for (auto at = log.find(text); at != std::string::npos; at = log.find(text, at + 1))
      ++times;
    return times;
  };
  const std::string line = "[ERROR] relay: client agent rejected by the cluster reason=\"node name '";
  CHECK(eventually(milliseconds{20000},
                   [&] { return times_in(cluster.agent(1), line + first.name() + "' is taken") == 1; }));
  CHECK(eventually(milliseconds{20000},
                   [&] { return times_in(cluster.agent(2), line + server.name() + "' is taken") == 1; }));
  std::this_thread::sleep_for(milliseconds{3000});
  CHECK(times_in(server, "client agent rejected") == 2); // once a minute each
  CHECK(health_of(server, first.name()) == "passing");
  CHECK(json::parse(server.get("/v1/agent/members").body).as_array().size() == 2);
}

// Name, ID and address of a node are public: they must not be enough to act for it.
TEST_CASE("an agent with the name and the ID of another one's node is refused", "[client_agents][B3]") {
  raise_file_limit();
  server_cluster cluster(server_command::from_environment(BELAY_BINARY_DIR),
                         cluster_options{1, "node", {{"log_level", "info"}}, 0, 2});
  auto& server = cluster.node(0);
  auto& real = cluster.agent(0);
  auto& impostor = cluster.agent(1);
  server.start();
  real.start();
  cluster.wait_ready();
  cluster.wait_agents();
  const auto node = [&] { return json::parse(server.get("/v1/catalog/node/" + real.name()).body).at("Node"); };
  REQUIRE(eventually(milliseconds{10000}, [&] { return node().at("Meta").as_object().contains("belay-node-proof"); }));
  const std::string id(node().at("ID").as_string());
  REQUIRE(real.put("/v1/session/create", "{}").ok());
  cluster.configure_one(2, {{"log_level", "info"}, {"node_name", real.name()}, {"node_id", id}});
  impostor.start();
  const std::string line = "client agent rejected by the cluster reason=\"node '" + real.name() +
                           "' has a secret that this agent does not have";
  CHECK(
      eventually(milliseconds{20000}, [&] { return file_text(impostor.log_file()).find(line) != std::string::npos; }));
  CHECK(impostor.put("/v1/agent/leave", "", milliseconds{20000}).status == 200);
  REQUIRE(impostor.process().wait(milliseconds{20000}));
  std::this_thread::sleep_for(milliseconds{2000});
  CHECK(health_of(server, real.name()) == "passing");
  CHECK(node().at("ID").as_string() == id);
  CHECK(sessions(server) == 1);
  // The agent itself keeps its node, even after a crash, and it may leave.
  real.kill_hard();
  real.start();
  cluster.wait_agents();
  REQUIRE(real.put("/v1/kv/a", "x").ok()); // a heartbeat has arrived: its first one must not come after its departure
  CHECK(real.put("/v1/agent/leave", "", milliseconds{20000}).status == 200);
  CHECK(eventually(milliseconds{10000}, [&] { return health_of(server, real.name()).empty(); }));
}

// An operator named the server by a request, not in a file, and would not repeat it.
TEST_CASE("an agent that has joined is a member at once, and finds its servers again after a crash",
          "[client_agents]") {
  raise_file_limit();
  server_cluster cluster(server_command::from_environment(BELAY_BINARY_DIR), cluster_options{1, "node", {}, 0, 1});
  auto& server = cluster.node(0);
  auto& agent = cluster.agent(0);
  server.start();
  cluster.wait_ready();
  const json::object nobody_named{{"log_level", "info"}, {"retry_join", json::array{}}};
  cluster.configure_one(1, nobody_named);
  agent.start();
  const auto logged = [&](const std::string& text) {
    return eventually(milliseconds{10000}, [&] { return file_text(agent.log_file()).find(text) != std::string::npos; });
  };
  CHECK(logged("servers not reached; the node becomes critical after 5 s reason=\"no server is configured\""));
  const auto refused = agent.put("/v1/agent/join/127.0.0.1:1", "", milliseconds{20000});
  CHECK(refused.status == 500);
  CHECK(refused.body.find("connection refused") != std::string::npos);
  REQUIRE(agent.put("/v1/agent/join/127.0.0.1:" + std::to_string(server.server_port()), "", milliseconds{20000}).ok());
  CHECK(json::parse(server.get("/v1/agent/members").body).as_array().size() == 2);

  agent.kill_hard();
  agent.start();
  cluster.wait_agents();
  CHECK(agent.put("/v1/kv/a", "x", milliseconds{20000}).body.starts_with("true"));

  // An agent that has left contacts its servers again only if it is configured to rejoin.
  CHECK(agent.put("/v1/agent/leave", "", milliseconds{30000}).status == 200);
  REQUIRE(agent.process().wait(milliseconds{20000}));
  CHECK(eventually(milliseconds{10000}, [&] { return health_of(server, agent.name()).empty(); }));
  agent.start();
  CHECK(logged("this agent has left the cluster"));
  std::this_thread::sleep_for(milliseconds{2000});
  CHECK(health_of(server, agent.name()).empty());
  agent.kill_hard();
  auto comes_back = nobody_named;
  comes_back["rejoin_after_leave"] = true;
  cluster.configure_one(1, comes_back);
  agent.start();
  cluster.wait_agents();
  agent.kill_hard();
  cluster.configure_one(1, nobody_named); // once is enough
  agent.start();
  cluster.wait_agents();
}

// Certificates of agents expire, too, and with them the connection to the servers.
TEST_CASE("a client agent reports how long its certificates last", "[client_agents]") {
  scratch_folder folder;
  const std::string belay = BELAY_BINARY_DIR "/belay";
  REQUIRE(std::system(("cd " + folder.path().string() + " && " + belay + " tls ca create > made.txt 2>&1 && " + belay +
                       " tls cert create -server -days 20 >> made.txt 2>&1")
                          .c_str()) == 0);
  auto cluster = cluster_with_agents(1, 1, 0,
                                     {{"log_level", "info"},
                                      {"verify_incoming", true},
                                      {"verify_outgoing", true},
                                      {"ca_file", folder / "consul-agent-ca.pem"},
                                      {"cert_file", folder / "dc1-server-consul-0.pem"},
                                      {"key_file", folder / "dc1-server-consul-0-key.pem"}});
  auto& agent = cluster->agent(0);
  CHECK(file_text(agent.log_file()).find("certificate expires soon") != std::string::npos);
  CHECK(agent.get("/v1/agent/metrics").body.find("tls.certificate_days_left") != std::string::npos);
}

TEST_CASE("client agents with certificates or a key are accepted, and those without are not", "[client_agents]") {
  const std::string key = "pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s=";
  auto cluster = cluster_with_agents(1, 2, 0, {{"encrypt", key}});
  auto& agent = cluster->agent(1);
  REQUIRE(agent.put("/v1/kv/a", "x").body.starts_with("true"));
  agent.kill_hard();
  std::filesystem::remove_all(agent.data_folder() / "serf");
  cluster->configure_one(2, {{"encrypt", "yUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s="}});
  agent.start();
  CHECK(eventually(milliseconds{20000}, [&] { return agent.get("/v1/kv/a", milliseconds{15000}).status == 500; }));
  CHECK(cluster->agent(0).get("/v1/kv/a?raw").body == "x");
}
