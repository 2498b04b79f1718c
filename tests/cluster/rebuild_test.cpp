#include "tests/cluster/cluster_fixture.hpp"
#include "tests/harness/base64.hpp"

#include <iostream>

using namespace belay::harness;
namespace json = boost::json;
using std::chrono::steady_clock;

namespace {

/// Writes the keys fill/0 ... with values of 100 bytes, 64 in a transaction.
void fill_with_keys(std::uint16_t port, std::size_t keys) {
  auto encoded = base64_encoded(std::string(100, 'v'));
  http_connection connection(port);
  for (std::size_t at = 0; at < keys;) {
    json::array operations;
    for (; at < keys && operations.size() < 64; ++at) {
      json::object set = {{"Verb", "set"}, {"Key", "fill/" + std::to_string(at)}, {"Value", encoded}};
      operations.push_back(json::object{{"KV", set}});
    }
    auto reply = connection.ask({"PUT", "/v1/txn", {}, json::serialize(operations), false}, milliseconds{10000});
    REQUIRE(reply.status == 200);
  }
}

std::size_t count_of_keys(std::uint16_t port) {
  auto reply = http_get(port, "/v1/kv/fill/?keys&stale", milliseconds{30000});
  return reply.ok() ? json::parse(reply.body).as_array().size() : 0;
}

} // namespace

// A follower's disk is replaced. The leader's log no longer reaches back to its start, so the
// follower needs the state itself, while writes continue; the leader must not stall.
TEST_CASE("a wiped follower is rebuilt", "[rebuild]") {
  auto keys = number_from_environment("BELAY_CLUSTER_KEYS", 20000);
  auto cluster = ready_cluster(
      3, {{"raft_snapshot_threshold", 200}, {"raft_snapshot_interval", "1s"}, {"raft_trailing_logs", 100}});
  auto leader = cluster->wait_leader();
  fill_with_keys(cluster->node(leader).http_port(), keys);
  workload load({cluster->node(leader).http_port()}, 16);
  REQUIRE(load.wait_for_more(2000));
  auto follower = (leader + 1) % 3;
  auto before = steady_clock::now() - std::chrono::seconds{1};

  auto down = steady_clock::now();
  cluster->node(follower).kill_hard();
  cluster->node(follower).wipe();
  REQUIRE(load.wait_for_more(2000)); // more than the log retains
  auto begun = steady_clock::now();
  cluster->node(follower).start();
  auto caught_up = eventually(milliseconds{120000}, [&] {
    auto ours = cluster->state_of(follower).applied_index, theirs = cluster->state_of(leader).applied_index;
    return ours && theirs && *ours + 1000 > *theirs && count_of_keys(cluster->node(follower).http_port()) == keys;
  });
  auto end = steady_clock::now();
  CHECK(caught_up);
  std::cout << "rebuild of " << keys << " keys: " << seconds_since(begun) << " s; leader's p99 "
            << load.p99_ms(before, down) << " ms before, " << load.p99_ms(begun, end) << " ms during\n";
  CHECK(cluster->wait_leader() == leader);
  check_nothing_lost(*cluster, load);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(count_of_keys(cluster->node(i).http_port()) == keys);
}
