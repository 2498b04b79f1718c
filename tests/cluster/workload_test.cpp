#include "tests/cluster/cluster_fixture.hpp"

using namespace belay::harness;

// The other tests rely on the workload to notice lost writes. Here the test itself loses them.
TEST_CASE("the workload detects lost, changed and invented writes", "[workload]") {
  auto cluster = ready_cluster(1);
  auto& node = cluster->node(0);
  auto port = node.http_port();
  workload load({port}, 3);
  // Each of the three kinds has written when each of its keys is there.
  REQUIRE(eventually(milliseconds{30000}, [&] {
    return node.get("/v1/kv/load/unique/0/1").ok() && node.get("/v1/kv/load/counter/1").ok() &&
           node.get("/v1/kv/load/register/2/0").ok();
  }));
  load.stop();
  REQUIRE(load.violations().empty());
  REQUIRE(load.compare(port, "consistent").empty());
  CHECK(load.compare(port, "stale").empty());

  for (auto key : {"load/unique/0/1", "load/counter/1", "load/register/2/0"}) {
    INFO(key);
    auto target = std::string("/v1/kv/") + key;
    auto raw = node.get(target + "?raw").body;
    REQUIRE(node.put(target, "wrong").body.starts_with("true"));
    CHECK(load.compare(port, "consistent").size() == 1);
    REQUIRE(exchange(port, {"DELETE", target, {}, {}, false}, milliseconds{10000}).ok());
    CHECK(load.compare(port, "consistent").size() == 1);
    REQUIRE(node.put(target, raw).body.starts_with("true"));
    CHECK(load.compare(port, "consistent").empty());
  }
  REQUIRE(node.put("/v1/kv/load/unique/0/new", "x").body.starts_with("true"));
  CHECK(load.compare(port, "consistent").size() == 1);
}

// A writer that sees its own acknowledged value undone reports it while it runs.
TEST_CASE("the workload notices a value going back", "[workload]") {
  auto cluster = ready_cluster(1);
  auto& node = cluster->node(0);
  for (const std::string key : {"load/counter/1", "load/register/2/0"}) {
    workload load({node.http_port()}, 3);
    CHECK(eventually(milliseconds{30000}, [&] {
      node.put("/v1/kv/" + key, "0");
      const auto found = load.violations();
      return std::any_of(found.begin(), found.end(), [&](const std::string& v) { return v.find(key) != v.npos; });
    }));
  }
}
