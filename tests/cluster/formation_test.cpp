// How servers discover each other.

#include "tests/cluster/cluster_fixture.hpp"

#include <thread>

using namespace belay::harness;
namespace json = boost::json;

// The usual configuration: all servers name the same seed, which names none. Only the seed
// introduces the second and the third to each other, and the first server to start finds no other.
TEST_CASE("servers whose retry_join has only one seed form one cluster", "[formation]") {
  const auto seed = static_cast<std::size_t>(GENERATE(0, 2)); // starts first, or last
  const auto command = server_command::from_environment(BELAY_BINARY_DIR);
  server_cluster cluster(command, cluster_options{3, "node", {}});
  const json::array named{json::value(cluster.node(seed).join_address())};
  for (std::size_t i = 0; i < cluster.size(); ++i)
    cluster.node(i).configure(
        {{"bootstrap_expect", 3}, {"retry_join", i == seed ? json::array() : named}, {"retry_interval", "1s"}});
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    cluster.node(i).start();
    if (i + 1 < cluster.size())
      std::this_thread::sleep_for(milliseconds{300});
  }
  cluster.wait_ready(); // one leader according to all, three peers on each
  CHECK(cluster.node(1).put("/v1/kv/a", "x").body.starts_with("true"));
  CHECK(cluster.wait_equal() == "");

  // Without the seed the other two are still a cluster, even after a restart: they know each other.
  cluster.node(seed).kill_hard();
  const std::size_t first = seed == 0 ? 1 : 0, second = seed == 2 ? 1 : 2;
  for (const auto i : {first, second})
    cluster.node(i).kill_hard();
  for (const auto i : {first, second})
    cluster.node(i).start();
  cluster.wait_leader();
  CHECK(cluster.node(second).get("/v1/kv/a?raw&consistent").body == "x");
}
