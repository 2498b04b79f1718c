// Servers that leave: their process, and the others (docs/operate/operations.md, "A server leaves").

#include "tests/cluster/cluster_fixture.hpp"

#include <csignal>
#include <filesystem>
#include <thread>

using namespace belay::harness;

namespace {

namespace json = boost::json;

// With this key a returning server is admitted without an operator.
const json::object encrypted{{"encrypt", "pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s="}};

std::size_t servers_known_to(server_node& node) {
  const auto reply = node.get("/v1/operator/raft/configuration");
  return reply.ok() ? json::parse(reply.body).at("Servers").as_array().size() : 0;
}

bool is_in_catalog(server_node& node, const std::string& name) {
  return node.get("/v1/catalog/nodes").body.find("\"" + name + "\"") != std::string::npos;
}

} // namespace

TEST_CASE("the leader leaves: it exits with 0, the others continue, and it may return", "[leave]") {
  auto cluster = ready_cluster(3, encrypted);
  const auto leader = cluster->wait_leader();
  auto& node = cluster->node(leader);
  auto& other = cluster->node((leader + 1) % 3);
  REQUIRE(eventually(milliseconds{20000}, [&] { return is_in_catalog(other, node.name()); }));
  REQUIRE(node.put("/v1/kv/a", "here").body.starts_with("true"));

  const auto reply = node.put("/v1/agent/leave", "", milliseconds{30000});
  CHECK(reply.status == 200);
  CHECK(reply.body.empty());
  const auto end = node.process().wait(milliseconds{30000});
  REQUIRE(end);
  CHECK(end->signal == 0);
  CHECK(end->code == 0);
  CHECK(std::filesystem::exists(node.data_folder() / "left"));
  CHECK(eventually(milliseconds{20000}, [&] { return servers_known_to(other) == 2; }));
  CHECK(eventually(milliseconds{20000}, [&] { return !is_in_catalog(other, node.name()); }));
  CHECK(eventually(milliseconds{20000}, [&] { return other.put("/v1/kv/b", "2").body.starts_with("true"); }));

  node.start(); // with retry_join
  CHECK(eventually(milliseconds{30000}, [&] { return servers_known_to(other) == 3; }));
  CHECK(eventually(milliseconds{30000}, [&] { return node.get("/v1/kv/b").body.find("Mg==") != std::string::npos; }));
  CHECK_FALSE(std::filesystem::exists(node.data_folder() / "left"));
  CHECK(cluster->wait_equal() == "");
}

TEST_CASE("a signal makes a server leave if it is set to mean that", "[leave]") {
  auto cluster = ready_cluster(3, {{"leave_on_terminate", true}});
  const auto leader = cluster->wait_leader();
  auto& node = cluster->node((leader + 1) % 3);
  node.process().signal(SIGTERM);
  const auto end = node.process().wait(milliseconds{30000});
  REQUIRE(end);
  CHECK(end->code == 0);
  CHECK(eventually(milliseconds{20000}, [&] { return servers_known_to(cluster->node(leader)) == 2; }));

  // The next departure would leave one server alone with a lost one, which is waited for.
  auto& lost = cluster->node((leader + 2) % 3);
  lost.kill_hard();
  cluster->node(leader).process().signal(SIGTERM);
  const auto last = cluster->node(leader).process().wait(milliseconds{60000});
  REQUIRE(last);
  CHECK(last->code == 1);
}

TEST_CASE("the only server leaves, and has its data when it returns", "[leave]") {
  auto cluster = ready_cluster(1);
  auto& node = cluster->node(0);
  REQUIRE(node.put("/v1/kv/a", "here").body.starts_with("true"));
  CHECK(node.put("/v1/agent/leave", "", milliseconds{30000}).status == 200);
  const auto end = node.process().wait(milliseconds{30000});
  REQUIRE(end);
  CHECK(end->code == 0);
  node.start();
  cluster->wait_ready();
  CHECK(node.get("/v1/kv/a").body.find("aGVyZQ==") != std::string::npos);
}

// Without retry_join a server that has left stays out; -rejoin contacts the known members.
TEST_CASE("a server that has left returns to the members it knew if rejoin_after_leave is set", "[leave]") {
  auto cluster = ready_cluster(3, encrypted);
  const auto leader = cluster->wait_leader();
  const auto i = (leader + 1) % 3;
  auto& node = cluster->node(i);
  auto& other = cluster->node(leader);
  REQUIRE(other.put("/v1/kv/a", "here").body.starts_with("true"));
  REQUIRE(node.put("/v1/agent/leave", "", milliseconds{30000}).status == 200);
  REQUIRE(node.process().wait(milliseconds{30000}));
  REQUIRE(eventually(milliseconds{20000}, [&] { return servers_known_to(other) == 2; }));

  auto alone = encrypted;
  alone["retry_join"] = json::array{};
  alone["log_level"] = "info";
  cluster->configure_one(i, alone);
  node.start();
  CHECK(eventually(milliseconds{20000}, [&] {
    return file_text(node.log_file()).find("this server has left the cluster and will not contact its members") !=
           std::string::npos;
  }));
  std::this_thread::sleep_for(milliseconds{2000});
  CHECK(servers_known_to(other) == 2);
  node.kill_hard();

  alone["rejoin_after_leave"] = true;
  cluster->configure_one(i, alone);
  node.start();
  CHECK(eventually(milliseconds{30000}, [&] { return servers_known_to(other) == 3; }));
  CHECK(
      eventually(milliseconds{30000}, [&] { return node.get("/v1/kv/a").body.find("aGVyZQ==") != std::string::npos; }));
  CHECK_FALSE(std::filesystem::exists(node.data_folder() / "left"));
}

TEST_CASE("the only voter stays while there is a read replica", "[leave]") {
  raise_file_limit();
  server_cluster cluster(server_command::from_environment(BELAY_BINARY_DIR),
                         cluster_options{1, "node", {{"allow_unauthenticated_servers", true}}, 1});
  cluster.start_all();
  cluster.wait_ready();
  auto& voter = cluster.node(0);
  auto& replica = cluster.node(1);
  REQUIRE(eventually(milliseconds{20000}, [&] { return servers_known_to(voter) == 2; }));
  const auto refused = voter.put("/v1/agent/leave", "", milliseconds{30000});
  CHECK(refused.status == 500);
  CHECK(refused.body.find("the only voter") != std::string::npos);
  CHECK(voter.put("/v1/kv/a", "here").body.starts_with("true"));
  CHECK(replica.put("/v1/agent/leave", "", milliseconds{30000}).status == 200);
  REQUIRE(replica.process().wait(milliseconds{30000}));
  REQUIRE(eventually(milliseconds{20000}, [&] { return servers_known_to(voter) == 1; }));
  CHECK(voter.put("/v1/agent/leave", "", milliseconds{30000}).status == 200);
}
