// Servers of streams are killed: a client that resumes gets each change once (docs/reference/changes.md).

#include "tests/cluster/changes/change_follower.hpp"
#include "tests/cluster/changes/crowd_of_followers.hpp"
#include "tests/cluster/cluster_fixture.hpp"

#include <iostream>

using namespace belay::harness;

// Eighty streams and twenty long polls, while sixteen clients write. Each round kills the leader,
// each third one a busy follower, too. Any lost, duplicate or misplaced change shows.
TEST_CASE("changes: with a hundred followers, each gets every change once, whichever server is killed",
          "[changes][failover]") {
  const auto rounds = number_from_environment("BELAY_STREAM_ROUNDS", 1);
  auto cluster = ready_cluster(3);
  crowd_of_followers crowd(http_ports(*cluster), "load/", 80, 20);
  workload load(http_ports(*cluster), 16);
  const auto kill = [&](std::size_t node) {
    cluster->node(node).kill_hard();
    const auto killed = std::chrono::steady_clock::now();
    cluster->wait_leader();
    REQUIRE(load.wait_for_more(200));
    cluster->node(node).start();
    cluster->wait_ready();
    return seconds_since(killed);
  };
  for (std::size_t round = 1; round <= rounds; ++round) {
    REQUIRE(load.wait_for_more(200));
    const auto leader = cluster->wait_leader();
    kill(leader);
    if (round % 3 == 0)
      kill((cluster->wait_leader() + 1) % 3);
  }
  check_nothing_lost(*cluster, load);
  const auto last = cluster->node(0).put("/v1/kv/load/~", "the last one");
  REQUIRE(last.header("X-Belay-Index") != nullptr);
  crowd.end_at(std::stoull(*last.header("X-Belay-Index")));

  CHECK(crowd.complaints() == std::vector<std::string>{});
  CHECK(crowd.void_states() == 0);
  CHECK(crowd.received().checker().wrong() == std::vector<std::string>{});
  CHECK(crowd.received().checker().known() == read_all(cluster->node(0).http_port(), "load/"));
  CHECK(crowd.received().size() >= load.acknowledged_count());
  CHECK(crowd.resumed() >= rounds * 30);
  std::cout << rounds << " rounds: each of 100 received " << crowd.received().size() << " changes; "
            << load.acknowledged_count() << " writes acknowledged, " << load.unknown_count() << " unknown; "
            << crowd.resumed() << " times at another server, " << crowd.cut() << " times cut as too slow, "
            << crowd.void_states() << " times reset\n";
}
