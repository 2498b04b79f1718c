// Servers without requests.

#include "tests/cluster/cluster_fixture.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

using namespace belay::harness;

namespace {

/// How often its threads have gone to sleep since it started.
std::uint64_t sleeps_of(pid_t process) {
  std::uint64_t all = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
    std::ifstream facts(thread.path() / "status");
    for (std::string name; facts >> name;)
      if (std::uint64_t n = 0; name == "voluntary_ctxt_switches:" && facts >> n)
        all += n;
  }
  return all;
}

} // namespace

// A timer that fires when nothing is due costs every server's machine: once 400 wake-ups a second,
// now about 14 (docs/internals/performance.md). Only voluntary sleeps count, on a busy machine, too.
TEST_CASE("a server without requests sleeps", "[idle]") {
  auto cluster = ready_cluster(1);
  auto& node = cluster->node(0);
  REQUIRE(node.put("/v1/kv/a", "1").body.starts_with("true"));
  std::this_thread::sleep_for(
      milliseconds{2000}); // its start is over: its own rows, the first comparisons with the catalog
  const auto before = sleeps_of(node.process().pid());
  std::this_thread::sleep_for(milliseconds{3000});
  CHECK(sleeps_of(node.process().pid()) - before <= 3 * 60);
  CHECK(node.get("/v1/kv/a").status == 200);
}
