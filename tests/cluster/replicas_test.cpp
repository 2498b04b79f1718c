// Read replicas as processes: servers without a vote beside three that have one (docs/internals/adr/0013).

#include "tests/cluster/cluster_fixture.hpp"

#include <iostream>
#include <thread>

using namespace belay::harness;
namespace json = boost::json;
using std::chrono::steady_clock;

namespace {

/// The numbers of voters and of members without a vote, according to the leader.
std::pair<std::size_t, std::size_t> votes_in(server_cluster& cluster, std::size_t through) {
  const auto reply = cluster.node(through).get("/v1/operator/raft/configuration");
  std::size_t voters = 0, others = 0;
  if (!reply.ok())
    return {};
  const auto configuration = json::parse(reply.body);
  for (const auto& s : configuration.at("Servers").as_array())
    ++(s.at("Voter").as_bool() ? voters : others);
  return {voters, others};
}

/// How many members say that they are replicas, according to that node.
std::size_t tagged_replicas(server_cluster& cluster, std::size_t through) {
  std::size_t n = 0;
  const auto members = json::parse(cluster.node(through).get("/v1/agent/members").body);
  for (const auto& m : members.as_array()) {
    const auto& tags = m.at("Tags").as_object();
    n += tags.contains("read_replica") && tags.at("read_replica").as_string() == "1" &&
         tags.at("nonvoter").as_string() == "1";
  }
  return n;
}

std::unique_ptr<server_cluster> cluster_with_replicas(std::size_t replicas, const json::object& config = {}) {
  raise_file_limit();
  auto cluster = std::make_unique<server_cluster>(server_command::from_environment(BELAY_BINARY_DIR),
                                                  cluster_options{3, "node", config, replicas});
  cluster->start_all();
  cluster->wait_ready();
  return cluster;
}

} // namespace

// Clients write and read through all five. Each server in turn is killed, cut off for longer than
// an election, and paused. Only voters lead, and every acknowledged write is everywhere at the end.
TEST_CASE("three servers and two read replicas: each is killed, isolated and restarted under load",
          "[.long][replicas]") {
  const auto rounds = std::max<std::size_t>(1, number_from_environment("BELAY_CLUSTER_ROUNDS", 3) / 3);
  auto cluster = cluster_with_replicas(2, {{"autopilot", {{"server_stabilization_time", "1s"}}}});
  REQUIRE(cluster->size() == 5);
  workload load(http_ports(*cluster), 10);
  for (std::size_t round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < cluster->size(); ++i) {
      INFO("server " << i << (i < cluster->voters() ? "" : ", a replica"));
      auto& node = cluster->node(i);
      REQUIRE(load.wait_for_more(100));
      node.kill_hard();
      REQUIRE(load.wait_for_more(100));
      node.start();
      cluster->wait_ready();
      node.pause();
      std::this_thread::sleep_for(milliseconds{900});
      CHECK(cluster->wait_leader() < cluster->voters());
      REQUIRE(load.wait_for_more(100));
      node.resume();
      cluster->wait_ready();
      node.stop();
      REQUIRE(load.wait_for_more(100));
      node.start();
      cluster->wait_ready();
    }
  check_nothing_lost(*cluster, load);
  for (std::size_t i = 0; i < cluster->size(); ++i) {
    CHECK(votes_in(*cluster, i) == std::pair<std::size_t, std::size_t>(3, 2));
    CHECK(tagged_replicas(*cluster, i) == 2);
  }
  const auto health = json::parse(cluster->node(4).get("/v1/operator/autopilot/health").body);
  CHECK(health.at("FailureTolerance") == 1);
}

// Both replicas and one voter are three of five servers but a minority of the votes.
TEST_CASE("without a majority of the votes read replicas write nothing, and answer stale reads", "[replicas]") {
  auto cluster = cluster_with_replicas(2);
  const auto leader = cluster->wait_leader();
  REQUIRE(cluster->node(3).put("/v1/kv/a", "x").body.starts_with("true"));
  REQUIRE(cluster->wait_equal() == "");
  for (std::size_t i = 0; i < 3; ++i)
    if (i != leader)
      cluster->node(i).kill_hard();
  CHECK(eventually(milliseconds{10000}, [&] { return !cluster->leader_according_to(leader); }));
  CHECK(cluster->node(3).get("/v1/kv/a?raw&stale").body == "x");
  CHECK(cluster->node(4).get("/v1/kv/a?raw&stale").body == "x");
  CHECK(cluster->node(3).get("/v1/kv/a?raw").status == 500);
  CHECK(cluster->node(4).put("/v1/kv/a", "y").status == 500);
  for (std::size_t i = 0; i < 3; ++i)
    if (i != leader)
      cluster->node(i).start();
  cluster->wait_ready();
  CHECK(cluster->node(3).get("/v1/kv/a?raw&consistent").body == "x");
}

// Autopilot's settings remove a lost replica, readmit it, promote one, and demote a voter.
TEST_CASE("read replicas are removed, promoted and demoted by the settings of autopilot", "[replicas]") {
  auto cluster = cluster_with_replicas(1, {{"autopilot", {{"server_stabilization_time", "2s"}}}});
  const auto is_now = [&](std::size_t voters, std::size_t others) {
    return eventually(milliseconds{40000}, [&] {
      return votes_in(*cluster, 0) == std::pair(voters, others) && votes_in(*cluster, 1) == std::pair(voters, others);
    });
  };
  auto& last = cluster->node(3);
  last.kill_hard();
  CHECK(is_now(3, 0));
  last.start();
  CHECK(is_now(3, 1));
  const auto restart_as = [&](bool replica) {
    last.stop();
    cluster->configure_one(3, {{"read_replica", replica}});
    last.start();
  };
  restart_as(false);
  CHECK(is_now(4, 0));
  restart_as(true);
  CHECK(is_now(3, 1));
}
