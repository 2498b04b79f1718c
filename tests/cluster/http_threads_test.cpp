// Several HTTP threads (http_config.threads). Each serves a share of the connections, limits apply
// to all together, and a client's write is visible through every other connection.

#include "tests/cluster/cluster_fixture.hpp"

#include <filesystem>
#include <fstream>

using namespace belay::harness;

namespace {

constexpr std::size_t http_threads = 3, clients = 30;

/// CPU time in nanoseconds of each HTTP thread.
std::vector<std::uint64_t> used_by_http_threads(pid_t pid) {
  std::vector<std::uint64_t> out;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::string name;
    std::ifstream(task.path() / "comm") >> name;
    std::uint64_t used = 0;
    std::ifstream(task.path() / "schedstat") >> used;
    if (name == "http")
      out.push_back(used);
  }
  return out;
}

} // namespace

TEST_CASE("several HTTP threads share the connections, and none returns old data", "[limits][http_threads]") {
  auto cluster = ready_cluster(
      1, {{"http_config", {{"threads", http_threads}}}, {"limits", {{"http_max_conns_per_client", clients}}}});
  auto& node = cluster->node(0);
  auto all = all_connections(node.http_port(), clients);
  const auto ask = [&](std::size_t i, const std::string& method, const std::string& target,
                       const std::string& body = "") {
    return all[i % all.size()]->ask({method, target, {}, body, false}, milliseconds{10000});
  };
  http_connection extra(node.http_port());
  CHECK_FALSE(answered(extra));

  const auto before = used_by_http_threads(node.process().pid());
  REQUIRE(before.size() == http_threads);
  for (std::size_t i = 0; i < 600; ++i) {
    const auto value = std::to_string(i);
    REQUIRE(ask(i, "PUT", "/v1/kv/written", value).body == "true");
    // Its neighbours belong to other HTTP threads; the one after these belongs to the same.
    for (std::size_t other = 1; other <= http_threads; ++other) {
      const auto read = ask(i + other, "GET", "/v1/kv/written?raw");
      REQUIRE(read.status == 200);
      REQUIRE(read.body == value);
      REQUIRE(ask(i + other, "GET", "/v1/kv/written?raw&stale").body == value);
    }
    REQUIRE(ask(i, "GET", "/v1/kv/not-written").status == 404);
  }
  const auto after = used_by_http_threads(node.process().pid());
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < http_threads; ++i)
    sum += after[i] - before[i];
  for (std::size_t i = 0; i < http_threads; ++i) {
    INFO("thread " << i << ": " << after[i] - before[i] << " ns of " << sum);
    CHECK(after[i] - before[i] > sum / 10);
  }
  all.pop_back();
  CHECK(eventually(milliseconds{10000}, [&] {
    http_connection again(node.http_port());
    return answered(again);
  }));
}
