// All kinds of nodes at once, as real processes: three servers, two read replicas, two client
// agents. Each in turn is killed, paused and restarted, under load through all of them.

#include "tests/cluster/cluster_fixture.hpp"

#include <iostream>
#include <map>
#include <thread>

using namespace belay::harness;
namespace json = boost::json;
using std::chrono::steady_clock;

namespace {

/// `serfHealth` of all nodes, according to that node: status, and the index of its last change.
std::map<std::string, std::pair<std::string, std::int64_t>> health_according_to(server_node& requested) {
  std::map<std::string, std::pair<std::string, std::int64_t>> out;
  const auto reply = requested.get("/v1/health/state/any", milliseconds{5000});
  if (!reply.ok())
    return out;
  const auto checks = json::parse(reply.body);
  for (const auto& c : checks.as_array())
    if (c.at("CheckID") == "serfHealth")
      out[std::string(c.at("Node").as_string())] = {std::string(c.at("Status").as_string()),
                                                    c.at("ModifyIndex").as_int64()};
  return out;
}

std::string session_of(server_node& node) {
  const auto made = node.put("/v1/session/create", "{}");
  REQUIRE(made.ok());
  return std::string(json::parse(made.body).at("ID").as_string());
}

bool lives(server_node& requested, const std::string& session) {
  return requested.get("/v1/session/info/" + session).body != "[]";
}

/// A dead agent costs its own sessions, and no other node's health.
void ends_alone(server_cluster& cluster, std::size_t which, const std::function<void()>& end) {
  auto& agent = cluster.agent(which);
  auto& other = cluster.agent(1 - which);
  const auto dies = session_of(agent), stays = session_of(other);
  auto before = health_according_to(other);
  REQUIRE(before.size() == cluster.size() + 2);
  const auto begun = steady_clock::now();
  end();
  REQUIRE(
      eventually(milliseconds{40000}, [&] { return health_according_to(other)[agent.name()].first == "critical"; }));
  std::cout << agent.name() << " critical after "
            << std::chrono::duration_cast<milliseconds>(steady_clock::now() - begun).count() << " ms\n";
  CHECK(eventually(milliseconds{5000}, [&] { return !lives(other, dies); }));
  CHECK(lives(other, stays));
  auto after = health_according_to(other);
  before.erase(agent.name());
  after.erase(agent.name());
  CHECK(after == before);
}

/// Default reads through all running nodes see the last write, through whichever node it was made.
void reads_right(server_cluster& cluster, int number) {
  const auto value = std::to_string(number);
  REQUIRE(eventually(milliseconds{20000}, [&] {
    return cluster.agent(0).put("/v1/kv/read/right", value, milliseconds{5000}).body.starts_with("true");
  }));
  for (std::size_t i = 0; i < cluster.size() + 2; ++i) {
    auto& node = i < cluster.size() ? cluster.node(i) : cluster.agent(i - cluster.size());
    INFO(node.name());
    CHECK(eventually(milliseconds{20000}, [&] { return node.get("/v1/kv/read/right?raw").ok(); }));
    CHECK(node.get("/v1/kv/read/right?raw").body == value);
  }
}

} // namespace

TEST_CASE("servers, read replicas and client agents: each is killed, paused and restarted under load",
          "[.long][client_agents][replicas]") {
  raise_file_limit();
  server_cluster cluster(server_command::from_environment(BELAY_BINARY_DIR),
                         cluster_options{3, "node", {{"autopilot", {{"server_stabilization_time", "1s"}}}}, 2, 2});
  cluster.start_all();
  cluster.wait_ready();
  cluster.wait_agents();
  auto ports = http_ports(cluster);
  for (std::size_t i = 0; i < 2; ++i)
    ports.push_back(cluster.agent(i).http_port());
  workload load(ports, 14);
  int number = 0;

  const auto agents_before = [&] {
    auto all = health_according_to(cluster.agent(0));
    return std::make_pair(all[cluster.agent(0).name()], all[cluster.agent(1).name()]);
  };
  const auto before = agents_before();
  CHECK(before.first.first == "passing");
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    INFO("server " << i << (i < cluster.voters() ? "" : ", a replica"));
    auto& node = cluster.node(i);
    REQUIRE(load.wait_for_more(100));
    node.kill_hard();
    REQUIRE(load.wait_for_more(100));
    node.start();
    cluster.wait_ready();
    node.pause();
    std::this_thread::sleep_for(milliseconds{900});
    REQUIRE(load.wait_for_more(100));
    node.resume();
    cluster.wait_ready();
    reads_right(cluster, ++number);
  }
  CHECK(agents_before() == before); // not one false critical: each would have been written

  for (std::size_t i = 0; i < 2; ++i) {
    INFO("client agent " << i);
    auto& agent = cluster.agent(i);
    REQUIRE(load.wait_for_more(100));
    ends_alone(cluster, i, [&] { agent.kill_hard(); });
    agent.start();
    cluster.wait_agents();
    ends_alone(cluster, i, [&] { agent.pause(); });
    agent.resume();
    cluster.wait_agents();
    REQUIRE(load.wait_for_more(100));
    reads_right(cluster, ++number);
  }

  check_nothing_lost(cluster, load);
  for (std::size_t i = 0; i < 2; ++i)
    for (const auto* mode : {"stale", "consistent"})
      CHECK(load.compare(cluster.agent(i).http_port(), mode) == std::vector<std::string>{});
}
