#include "tests/cluster/changes/change_follower.hpp"
#include "tests/cluster/cluster_fixture.hpp"

#include <random>
#include <string>
#include <thread>
#include <vector>

// Clients follow changes of keys through every kind of node (docs/reference/changes.md).

using namespace belay::harness;
using std::chrono::steady_clock;

namespace {

constexpr milliseconds answered_within{10000};

std::uint64_t index_of(const http_reply& r) {
  const auto* text = r.header("X-Belay-Index");
  REQUIRE(text != nullptr);
  return std::stoull(*text);
}

/// The index of the newest checkpoint.
std::uint64_t checkpoint_of(std::uint16_t port) {
  const auto self = boost::json::parse(http_get(port, "/v1/agent/self").body);
  return std::stoull(std::string(self.at("Stats").at("raft").at("last_snapshot_index").as_string()));
}

/// A cluster with a read replica and a client agent.
struct everywhere {
  std::unique_ptr<server_cluster> cluster;
  std::vector<std::uint16_t> ports; ///< ports of all of these nodes

  explicit everywhere(boost::json::object config = {}) {
    raise_file_limit();
    cluster = std::make_unique<server_cluster>(server_command::from_environment(BELAY_BINARY_DIR),
                                               cluster_options{3, "node", std::move(config), 1, 1});
    cluster->start_all();
    cluster->wait_ready();
    cluster->wait_agents();
    ports = http_ports(*cluster);
    ports.push_back(cluster->agent(0).http_port());
  }
};

} // namespace

TEST_CASE("changes: streams that are cut anywhere and continue at any node deliver each change once, in order") {
  everywhere all;
  std::minstd_rand random(7);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::vector<follower> followers;
  for (int i = 0; i < 6; ++i)
    followers.emplace_back("/v1/kv/app/?recurse&changes&snapshot");
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> newest{0};
  std::thread writer([&] {
    std::minstd_rand choices(3);
    http_connection c(all.ports[0]);
    for (int step = 0; step < 600; ++step) {
      const auto key = "app/" + std::to_string(choices() % 4) + '/' + std::to_string(choices() % 8);
      http_request r{"PUT", "/v1/kv/" + key, {}, std::string(choices() % 300, 'v') + std::to_string(step)};
      if (choices() % 9 == 0)
        r = {"DELETE", "/v1/kv/" + key.substr(0, 5) + "?recurse", {}, std::nullopt};
      else if (choices() % 9 == 0)
        r = {"PUT",
             "/v1/txn",
             {},
             R"([{"KV":{"Verb":"delete-tree","Key":")" + key.substr(0, 5) + R"("}},{"KV":{"Verb":"set","Key":")" + key +
                 R"(","Value":"dA=="}},{"KV":{"Verb":"set","Key":"app/other","Value":"dA=="}}])"};
      const auto reply = c.ask(r, answered_within);
      if (reply.header("X-Belay-Index") != nullptr)
        newest = std::stoull(*reply.header("X-Belay-Index"));
      std::this_thread::sleep_for(milliseconds(2));
    }
    stop = true;
  });
  while (!stop)
    for (auto& f : followers) {
      if (!f.connected())
        f.connect(all.ports[below(all.ports.size())]);
      f.read(milliseconds(1), below(4) == 0 ? 1 + below(60) : 4096);
      if (below(40) == 0)
        f.cut();
    }
  writer.join();
  const auto end = index_of(http_put(all.ports[0], "/v1/kv/app/end", "e"));
  const auto expected = read_all(all.ports[0], "app/");
  for (auto& f : followers) {
    const auto late = steady_clock::now() + std::chrono::seconds(40);
    while (f.checker().sent_up_to() < end && steady_clock::now() < late) {
      if (!f.connected())
        f.connect(all.ports[below(all.ports.size())]);
      f.read(milliseconds(50), 65536);
    }
    CHECK(f.checker().sent_up_to() >= end);
    CHECK(f.checker().wrong() == std::vector<std::string>{});
    CHECK(f.checker().known() == expected);
    CHECK(f.checker().changes() > 100);
    CHECK(f.checker().resets() == 0);
  }
}

TEST_CASE("changes: a long poll continues from its cursor, and reports one below the oldest retained index") {
  everywhere all({{"limits", {{"kv_changes_bytes", 65536}}}});
  const auto begin = http_get(all.ports[1], "/v1/kv/p/?recurse&changes&consistent");
  REQUIRE(begin.ok());
  CHECK(begin.body == "[]");
  auto at = *begin.header("X-Consul-Index");
  const auto put = index_of(http_put(all.ports[0], "/v1/kv/p/a", "1"));
  for (const auto port : all.ports) {
    INFO("port " << port);
    const auto r = http_get(port, "/v1/kv/p/?recurse&changes&index=" + at + "&wait=5s");
    REQUIRE(r.ok());
    CHECK(r.body ==
          R"([{"ID":")" + std::to_string(put) +
              R"(.0","Event":"set","Key":"p/a","Value":"MQ==","Flags":0,"Session":"","PreviousIndex":0,"Index":)" +
              std::to_string(put) + "}]");
    CHECK(std::stoull(*r.header("X-Consul-Index")) >= put);
  }
  const std::string value(8000, 'x');
  for (int i = 0; i < 20; ++i)
    REQUIRE(http_put(all.ports[0], "/v1/kv/p/big", value + std::to_string(i)).ok());
  const auto newest = index_of(http_put(all.ports[0], "/v1/kv/p/last", "l"));
  for (const auto port : all.ports) {
    INFO("port " << port);
    http_reply r;
    CHECK(eventually(answered_within, [&] {
      r = http_get(port, "/v1/kv/p/?recurse&changes&consistent&index=" + at);
      return r.status == 410;
    }));
    REQUIRE(r.header("X-Belay-Oldest-Index") != nullptr);
    CHECK(std::stoull(*r.header("X-Belay-Oldest-Index")) < newest);
    const auto past = http_get(port, "/v1/kv/p/big?at=" + std::to_string(put));
    CHECK(past.status == 410);
    const auto before = http_get(port, "/v1/kv/p/last?consistent&at=" + std::to_string(newest - 1));
    CHECK(before.status == 404);
    CHECK(http_get(port, "/v1/kv/p/last?consistent&raw&at=" + std::to_string(newest)).body == "l");
  }
  // A stream that resumes from such an id gets a full snapshot.
  follower late("/v1/kv/p/?recurse&changes&index=" + at);
  late.connect(all.ports[2]);
  CHECK(eventually(answered_within, [&] {
    late.read(milliseconds(20), 65536);
    return late.checker().sent_up_to() >= newest;
  }));
  CHECK(late.checker().resets() == 1);
  CHECK(late.checker().known() == read_all(all.ports[0], "p/"));
}

TEST_CASE("changes: a restart of all servers resets no follower") {
  // All servers restarted while a client was away since before the last checkpoint. It resumes.
  auto cluster = ready_cluster(3, {{"raft_snapshot_threshold", 40}, {"raft_snapshot_interval", "1s"}});
  const auto before = index_of(http_put(cluster->node(0).http_port(), "/v1/kv/w/before", "b"));
  std::vector<follower> followers;
  for (std::size_t i = 0; i < 3; ++i) {
    followers.emplace_back("/v1/kv/w/?recurse&changes&snapshot");
    followers.back().connect(cluster->node(i).http_port());
    CHECK(eventually(answered_within, [&] {
      followers.back().read(milliseconds(20), 65536);
      return followers.back().checker().sent_up_to() >= before;
    }));
    followers.back().cut();
  }
  std::uint64_t newest = 0;
  for (int i = 0; i < 100; ++i)
    newest = index_of(http_put(cluster->node(0).http_port(), "/v1/kv/w/" + std::to_string(i % 7), std::to_string(i)));
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(eventually(answered_within, [&] { return checkpoint_of(cluster->node(i).http_port()) >= newest; }));
  cluster->stop_all();
  cluster->start_all();
  cluster->wait_ready();
  for (std::size_t i = 0; i < 3; ++i) {
    INFO("server " << i);
    const auto port = cluster->node(i).http_port();
    const auto polled = http_get(port, "/v1/kv/w/?recurse&changes&consistent&index=" + std::to_string(before));
    REQUIRE(polled.status == 200);
    CHECK(boost::json::parse(polled.body).as_array().size() == 100);
    auto& f = followers[i];
    f.connect(port);
    CHECK(eventually(answered_within, [&] {
      f.read(milliseconds(20), 65536);
      return f.checker().sent_up_to() >= newest;
    }));
    CHECK(f.checker().resets() == 0);
    CHECK(f.checker().changes() == 100);
    CHECK(f.checker().wrong() == std::vector<std::string>{});
    CHECK(f.checker().known() == read_all(port, "w/"));
  }
}

TEST_CASE("changes: a restore resets followers") {
  everywhere all;
  http_put(all.ports[0], "/v1/kv/r/a", "1");
  const auto archive = http_get(all.ports[0], "/v1/snapshot");
  REQUIRE(archive.ok());
  http_put(all.ports[0], "/v1/kv/r/b", "2");
  std::vector<follower> followers;
  for (const auto port : all.ports) {
    followers.emplace_back("/v1/kv/r/?recurse&changes&snapshot");
    followers.back().connect(port);
    CHECK(eventually(answered_within, [&] {
      followers.back().read(milliseconds(20), 65536);
      return followers.back().checker().known().size() == 2;
    }));
  }
  REQUIRE(http_put(all.ports[0], "/v1/snapshot", archive.body).ok());
  const auto end = index_of(http_put(all.ports[0], "/v1/kv/r/c", "3"));
  for (auto& f : followers) {
    CHECK(eventually(milliseconds(25000), [&] {
      f.read(milliseconds(20), 65536);
      return f.checker().sent_up_to() >= end;
    }));
    CHECK(f.checker().resets() == 1);
    CHECK(f.checker().wrong() == std::vector<std::string>{});
    CHECK(f.checker().known() == read_all(all.ports[0], "r/"));
  }
}
