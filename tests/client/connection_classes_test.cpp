// Many waiting requests at once: they leave connections for other requests, and for renewals.
#include "tests/client/servers.hpp"

#include <thread>

using namespace belay;
using namespace belay::client_tests;

namespace {

/// Threads of `c` that wait for this many names, all of which are held by others.
std::vector<std::thread> wait_for_names(client& c, int names, const std::stop_token& stop) {
  std::vector<std::thread> all;
  all.reserve(static_cast<std::size_t>(names));
  for (int i = 0; i < names; ++i)
    all.emplace_back([&c, i, stop] {
      auto got = c.lock("n" + std::to_string(i)).acquire(seconds(60), stop);
      CHECK(got.reason() == reason::stopped);
    });
  return all;
}

void never_mind(client& c, std::size_t connections, int names, harness::server_cluster& cluster) {
  auto options = options_for(cluster, milliseconds(3000));
  options.connections_max = connections;
  client waits(options);
  auto own = waits.lock("own").acquire(seconds(10));
  REQUIRE(own);
  std::vector<client_lease> taken;
  for (int i = 0; i < names; ++i) {
    auto one = c.lock("n" + std::to_string(i)).acquire(seconds(10));
    REQUIRE(one);
    taken.push_back(std::move(*one));
  }
  std::stop_source stop;
  auto threads = wait_for_names(waits, names, stop.get_token());
  // Three times the TTL: without a renewal the session would be lost.
  for (int i = 0; i < 9; ++i) {
    std::this_thread::sleep_for(seconds(1));
    CHECK(own->safe());
    // With a single connection, short requests queue after those that wait.
    if (connections > 1)
      CHECK(waits.put("k", "v", seconds(2)));
  }
  if (connections > 1)
    CHECK(own->release(seconds(2)));
  stop.request_stop();
  for (auto& t : threads)
    t.join();
}

} // namespace

TEST_CASE("client: waiters for many names leave connections to renewals and short calls", "[client]") {
  auto cluster = started(our_server(), 1);
  client others(options_for(*cluster, milliseconds(30000)));
  never_mind(others, 64, 70, *cluster);
  never_mind(others, 1, 3, *cluster);
}
