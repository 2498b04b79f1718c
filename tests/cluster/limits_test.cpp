#include "tests/cluster/cluster_fixture.hpp"

#include <iostream>
#include <poll.h>

using namespace belay::harness;

TEST_CASE("the largest value", "[limits]") {
  auto cluster = ready_cluster(1, {{"limits", {{"kv_max_value_size", 1000}, {"txn_max_req_len", 1000}}}});
  auto& node = cluster->node(0);
  CHECK(node.put("/v1/kv/a", std::string(1000, 'x')).status == 200);
  auto refused = node.put("/v1/kv/b", std::string(1001, 'x'));
  CHECK(refused.status == 413);
  CHECK(refused.body.find("Request body(1001 bytes) too large, max size: 1000 bytes.") != std::string::npos);
  CHECK(node.get("/v1/kv/b").status == 404);
  // Far beyond every buffer: the response may come before the whole body was sent.
  CHECK(node.put("/v1/kv/b", std::string(20'000'000, 'x'), milliseconds{30000}).status == 413);
  CHECK(node.get("/v1/kv/a").status == 200);
}

// One client opens connections without end; those beyond the limit are closed.
TEST_CASE("connections of one client are limited", "[limits]") {
  // The harness itself has no open connection during the test: each of its requests closes its own.
  auto cluster = ready_cluster(1, {{"limits", {{"http_max_conns_per_client", 20}}}});
  auto port = cluster->node(0).http_port();
  auto open = all_connections(port, 20);
  for (int i = 0; i < 5; ++i) {
    http_connection extra(port);
    CHECK_FALSE(answered(extra));
  }
  for (auto& connection : open)
    CHECK(answered(*connection));
  open.pop_back();
  CHECK(eventually(milliseconds{10000}, [&] {
    http_connection again(port);
    return answered(again);
  }));
}

// A client requests much and reads nothing. Its unread data must not slow down others.
TEST_CASE("a slow reader stalls no other client", "[limits]") {
  auto cluster = ready_cluster(1);
  auto& node = cluster->node(0);
  for (int i = 0; i < 40; ++i)
    REQUIRE(node.put("/v1/kv/large/" + std::to_string(i), std::string(500000, 'x')).body.starts_with("true"));
  std::vector<std::unique_ptr<http_connection>> slow;
  for (int i = 0; i < 5; ++i) {
    slow.push_back(std::make_unique<http_connection>(node.http_port()));
    REQUIRE(slow.back()->send({"GET", "/v1/kv/large/?recurse", {}, {}, false}, milliseconds{5000}) == "");
  }
  http_connection other(node.http_port());
  double worst = 0;
  for (int i = 0; i < 200; ++i) {
    auto put = other.ask({"PUT", "/v1/kv/small", {}, std::to_string(i), false}, milliseconds{10000});
    auto get = other.ask({"GET", "/v1/kv/small", {}, {}, false}, milliseconds{10000});
    REQUIRE(put.ok());
    REQUIRE(get.ok());
    worst = std::max({worst, put.took, get.took});
  }
  std::cout << "beside five slow readers: slowest request " << worst * 1000 << " ms\n";
  for (auto& connection : slow) {
    auto reply = connection->receive(milliseconds{60000});
    CHECK(reply.ok());
    CHECK(reply.body.size() > 40 * 500000 * 4 / 3);
  }
}

// A thousand clients wait for one key, on all nodes. One write wakes each, with the new value.
TEST_CASE("a thousand idle long polls are all answered", "[limits]") {
  auto cluster = ready_cluster(3, {{"limits", {{"http_max_conns_per_client", 4000}}}});
  auto leader = cluster->wait_leader();
  REQUIRE(cluster->node(leader).put("/v1/kv/watched", "old").body.starts_with("true"));
  auto index = *cluster->node(leader).get("/v1/kv/watched").header("X-Consul-Index");
  std::vector<std::unique_ptr<http_connection>> polls;
  std::vector<pollfd> waiting;
  for (std::size_t i = 0; i < 1000; ++i) {
    polls.push_back(std::make_unique<http_connection>(cluster->node(i % 3).http_port()));
    auto target = "/v1/kv/watched?wait=300s&index=" + index;
    REQUIRE(polls.back()->send({"GET", target, {}, {}, false}, milliseconds{10000}) == "");
    waiting.push_back({polls.back()->descriptor(), POLLIN, 0});
  }
  CHECK(poll(waiting.data(), waiting.size(), 1000) == 0); // no request is answered before the write
  auto begun = std::chrono::steady_clock::now();
  REQUIRE(cluster->node(leader).put("/v1/kv/watched", "new").body.starts_with("true"));
  std::size_t good = 0;
  for (auto& connection : polls) {
    auto reply = connection->receive(milliseconds{30000});
    const auto* newer = reply.header("X-Consul-Index");
    good +=
        reply.ok() && newer && std::stoull(*newer) > std::stoull(index) && reply.body.find("bmV3") != std::string::npos;
  }
  CHECK(good == 1000);
  std::cout << "1000 long polls answered " << seconds_since(begun) * 1000 << " ms after the write\n";
}
