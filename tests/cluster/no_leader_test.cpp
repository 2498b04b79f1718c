#include "tests/cluster/cluster_fixture.hpp"

using namespace belay::harness;

// Two of three nodes are gone. The third must report that soon, and serve what needs no leader.
TEST_CASE("without a leader only stale reads are answered", "[no-leader]") {
  auto cluster = ready_cluster(3, {{"performance", {{"rpc_hold_timeout", "1s"}}}});
  auto leader = cluster->wait_leader();
  REQUIRE(cluster->node(leader).put("/v1/kv/a", "here").body.starts_with("true"));
  auto survivor = (leader + 1) % 3;
  auto& node = cluster->node(survivor);
  REQUIRE(eventually(milliseconds{10000}, [&] { return node.get("/v1/kv/a?stale").ok(); }));
  auto known = node.get("/v1/kv/a?stale");
  REQUIRE(known.header("X-Consul-Knownleader"));
  CHECK(*known.header("X-Consul-Knownleader") == "true");
  for (std::size_t i = 0; i < 3; ++i)
    if (i != survivor)
      cluster->node(i).kill_hard();
  REQUIRE(eventually(milliseconds{30000}, [&] {
    auto named = node.get("/v1/status/leader");
    return named.ok() && named.body.starts_with("\"\"");
  }));

  for (const auto& [method, target] : {std::pair{"GET", "/v1/kv/a"},
                                       {"GET", "/v1/kv/a?consistent"},
                                       {"GET", "/v1/kv/?recurse"},
                                       {"PUT", "/v1/kv/b"},
                                       {"DELETE", "/v1/kv/a"}}) {
    INFO(method << " " << target);
    auto reply = exchange(node.http_port(), {method, target, {}, {}, false}, milliseconds{30000});
    CHECK(reply.status == 500);
    CHECK(reply.body == "No cluster leader");
    CHECK(reply.took >= 0.9); // rpc_hold_timeout
  }
  auto stale = node.get("/v1/kv/a?stale");
  CHECK(stale.status == 200);
  REQUIRE(stale.header("X-Consul-Knownleader"));
  CHECK(*stale.header("X-Consul-Knownleader") == "false");
  CHECK(stale.body.find("aGVyZQ==") != std::string::npos);
  CHECK(node.get("/v1/kv/none?stale").status == 404);
  CHECK(node.get("/v1/status/peers").status == 200);

  // A request that is waiting when a leader appears is served.
  cluster->configure({{"performance", {{"rpc_hold_timeout", "30s"}}}});
  node.kill_hard();
  node.start();
  REQUIRE(eventually(milliseconds{30000}, [&] { return node.get("/v1/status/leader").ok(); }));
  http_connection held(node.http_port());
  REQUIRE(held.send({"PUT", "/v1/kv/held", {}, "x", false}, milliseconds{5000}) == "");
  for (std::size_t i = 0; i < 3; ++i)
    if (i != survivor)
      cluster->node(i).start();
  auto served = held.receive(milliseconds{60000});
  INFO(served.body);
  CHECK(served.status == 200);
  CHECK(served.body.starts_with("true"));
  cluster->wait_ready();
  CHECK(cluster->wait_equal() == "");
}

// A read that reaches a follower while the leader is dying waits for the next leader.
TEST_CASE("reads through a follower survive an election", "[no-leader]") {
  auto cluster = ready_cluster(3);
  auto leader = cluster->wait_leader();
  REQUIRE(cluster->node(leader).put("/v1/kv/a", "here").body.starts_with("true"));
  auto& follower = cluster->node((leader + 1) % 3);
  cluster->node(leader).kill_hard();
  for (int i = 0; i < 20; ++i) {
    auto reply = follower.get(i % 2 ? "/v1/kv/a" : "/v1/kv/a?consistent", milliseconds{30000});
    INFO("read " << i << " " << reply.error << reply.body);
    if (!cluster->command().is_reference()) // it responds 500 until its gossip has noticed
      CHECK(reply.status == 200);
  }
  cluster->wait_leader();
  CHECK(follower.get("/v1/kv/a?consistent").status == 200);
}
