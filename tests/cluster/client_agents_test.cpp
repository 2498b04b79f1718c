// Client agents as real processes beside servers: what they pass on, and what the cluster says of them when they, or servers, are gone.

#include "tests/cluster/cluster_fixture.hpp"

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

/// What the catalog says of that node: passing, critical, or nothing.
std::string health_of(server_node& asked, const std::string& name) {
  const auto reply = asked.get("/v1/health/node/" + name + "?stale", milliseconds{2000});
  if (!reply.ok())
    return "no answer";
  const auto checks = json::parse(reply.body);
  for (const auto& c : checks.as_array())
    if (c.at("CheckID") == "serfHealth")
      return std::string(c.at("Status").as_string());
  return "";
}

std::size_t sessions(server_node& asked) {
  return json::parse(asked.get("/v1/session/list").body).as_array().size();
}

} // namespace

TEST_CASE("a client agent passes on what servers answer, and keeps its own services", "[client_agents]") {
  auto cluster = cluster_with_agents(1, 1);
  auto& server = cluster->node(0);
  auto& agent = cluster->agent(0);
  REQUIRE(agent.put("/v1/kv/a", "x").body.starts_with("true"));
  CHECK(server.get("/v1/kv/a?raw").body == "x");
  const auto self = json::parse(agent.get("/v1/agent/self").body);
  CHECK(self.at("Config").at("Server") == false);
  CHECK(self.at("Stats").at("consul").at("server") == "false");

  // Its services are in the catalog, under its node, and sessions are the node's.
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

  // Larger than what is written at once, and of unknown length.
  const std::string large(400'000, 'v');
  for (int i = 0; i < 4; ++i)
    REQUIRE(agent.put("/v1/kv/large/" + std::to_string(i), large).body.starts_with("true"));
  CHECK(agent.get("/v1/kv/large/?recurse").body == server.get("/v1/kv/large/?recurse").body);
  const auto archive = agent.get("/v1/snapshot");
  REQUIRE(archive.ok());
  REQUIRE(agent.put("/v1/kv/a", "y").body.starts_with("true"));
  CHECK(agent.put("/v1/snapshot", archive.body).status == 200);
  CHECK(agent.get("/v1/kv/a?raw").body == "x");

  // A restart keeps what was registered through the API; leaving takes the node out of the catalog.
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

// What the leader says of agents is written in the catalog, and each leader gives all of them time: its end, or that of the server that an
// agent has asked, makes nobody critical.
TEST_CASE("an agent that is killed is critical within 4 to 8 s, and no other when a leader is", "[client_agents]") {
  auto cluster = cluster_with_agents(3, 2);
  auto& stays = cluster->agent(0);
  auto& dies = cluster->agent(1);
  REQUIRE(dies.put("/v1/session/create", "{}").ok());
  REQUIRE(sessions(stays) == 1);
  const auto killed = steady_clock::now();
  dies.kill_hard();
  const auto critical = [&] { return health_of(cluster->node(0), dies.name()) == "critical"; };
  REQUIRE(eventually(milliseconds{20000}, critical));
  const auto took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - killed);
  std::cout << "critical after " << took.count() << " ms\n";
  CHECK(took >= milliseconds{3900}); // not sooner than it could have been heard again
  CHECK(eventually(milliseconds{5000}, [&] { return sessions(stays) == 0; }));
  dies.start();
  cluster->wait_agents();

  // Every change of that check would be an entry: its index stays.
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

/// Statuses of the members by name, as that node tells them.
std::map<std::string, std::int64_t> members_according_to(server_node& asked) {
  std::map<std::string, std::int64_t> out;
  const auto list = json::parse(asked.get("/v1/agent/members").body);
  for (const auto& m : list.as_array()) {
    CHECK(m.at("Tags").at("role").as_string() == (m.at("Port").as_int64() == 0 ? "node" : "consul"));
    out[std::string(m.at("Name").as_string())] = m.at("Status").as_int64();
  }
  return out;
}

} // namespace

TEST_CASE("members are servers and client agents, and one that is lost can be forced out", "[client_agents]") {
  auto cluster = cluster_with_agents(1, 2);
  auto& server = cluster->node(0);
  auto& stays = cluster->agent(0);
  auto& dies = cluster->agent(1);
  const std::map<std::string, std::int64_t> all{{server.name(), 1}, {stays.name(), 1}, {dies.name(), 1}};
  CHECK(members_according_to(server) == all);
  CHECK(members_according_to(stays) == all);
  REQUIRE(dies.put("/v1/agent/service/register", R"({"Name":"web"})").ok());
  const auto alive = server.put("/v1/agent/force-leave/" + dies.name(), "");
  CHECK(alive.status == 500);
  CHECK(alive.body.find("is alive") != std::string::npos);
  CHECK(server.put("/v1/agent/force-leave/nobody", "").body == "agent: No node found with name 'nobody'");

  dies.kill_hard();
  REQUIRE(eventually(milliseconds{20000}, [&] { return health_of(server, dies.name()) == "critical"; }));
  CHECK(members_according_to(server).at(dies.name()) == 4);
  CHECK(stays.put("/v1/agent/force-leave/" + dies.name() + "?prune", "").status == 200);
  CHECK(members_according_to(server) == std::map<std::string, std::int64_t>{{server.name(), 1}, {stays.name(), 1}});
  CHECK(json::parse(server.get("/v1/catalog/service/web").body).as_array().empty());
  std::this_thread::sleep_for(milliseconds{3000}); // the leader looks at what it knows
  CHECK(health_of(server, dies.name()).empty());

  dies.start();
  cluster->wait_agents();
  CHECK(members_according_to(server) == all);
  CHECK(eventually(milliseconds{70000},
                   [&] { return json::parse(server.get("/v1/catalog/service/web").body).as_array().size() == 1; }));
}

// What a client sees of the cache: that it is answered from it, that changes arrive, that a token sees its own, and what there is without servers.
TEST_CASE("a client agent answers from its cache, and never what another token sees", "[client_agents]") {
  const std::string root = "6d1f1c5e-2d0b-4c0c-9a8a-51f0f3a4b7c9";
  auto cluster = cluster_with_agents(
      1, 1, 0,
      {{"acl",
        json::object{{"enabled", true}, {"default_policy", "allow"}, {"tokens", json::object{{"master", root}}}}}});
  auto& server = cluster->node(0);
  auto& agent = cluster->agent(0);
  const auto told = [](const http_reply& r, const char* name) {
    const auto* value = r.header(name);
    return value == nullptr ? std::string() : *value;
  };
  REQUIRE(agent.put("/v1/agent/service/register", R"({"Name":"web","Port":80})").ok());
  REQUIRE(eventually(milliseconds{5000},
                     [&] { return json::parse(server.get("/v1/health/service/web").body).as_array().size() == 1; }));
  const std::string service = "/v1/health/service/web?cached";
  CHECK(told(agent.get(service), "X-Cache") == "MISS");
  const auto hit = agent.get(service);
  CHECK(told(hit, "X-Cache") == "HIT");
  CHECK(told(hit, "Age") == "0");
  CHECK(hit.body == server.get("/v1/health/service/web").body);

  // A token that may see no service sees none, whether its answer is kept or not.
  REQUIRE(server
              .put("/v1/acl/policy?token=" + root,
                   R"({"Name":"blind","Rules":"service_prefix \"\" { policy = \"deny\" }"})")
              .ok());
  const auto made = json::parse(server.put("/v1/acl/token?token=" + root, R"({"Policies":[{"Name":"blind"}]})").body);
  const auto as_blind = service + "&token=" + std::string(made.at("SecretID").as_string());
  for (const auto* cache : {"MISS", "HIT"}) {
    const auto blind = agent.get(as_blind);
    CHECK(blind.body == "[]");
    CHECK(told(blind, "X-Cache") == cache);
  }
  CHECK(agent.get(service).body == hit.body);

  // A change arrives, also for those who wait for it.
  http_reply waited;
  std::thread waits(
      [&] { waited = agent.get(service + "&wait=20s&index=" + told(hit, "X-Consul-Index"), milliseconds{30000}); });
  std::this_thread::sleep_for(milliseconds{300});
  CHECK(agent.put("/v1/agent/service/register", R"({"Name":"web","Port":81})").ok());
  waits.join();
  REQUIRE(waited.status == 200);
  CHECK(waited.body.find(":81,") != std::string::npos);
  CHECK(told(waited, "X-Cache") == "MISS");
  CHECK(told(agent.get(service), "X-Cache") == "HIT");

  // Without servers the last answer stays, and says so.
  server.kill_hard();
  http_reply last;
  REQUIRE(eventually(milliseconds{40000}, [&] {
    last = agent.get(service);
    return last.status == 200 && !told(last, "Age").empty() && told(last, "Age") != "0";
  }));
  CHECK(last.body == waited.body);
  server.start();
  CHECK(eventually(milliseconds{60000}, [&] { return told(agent.get(service), "Age") == "0"; }));
}

TEST_CASE("client agents with certificates or a key are heard, and those without are not", "[client_agents]") {
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
