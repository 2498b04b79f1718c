// What an operator reads in the log of a server without a leader.

#include "protocol/forward/leaderless.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::raft;
using belay::forward::why_leaderless;

namespace {

member server(std::uint64_t id) {
  return {node_id{id}, "uuid", "n" + std::to_string(id), "10.0.0." + std::to_string(id) + ":8300"};
}

formation one_that_expects(std::uint32_t expect) {
  formation_settings s;
  s.expect = expect;
  return formation(server(1), "dc1", s, 0);
}

handshake peer(std::uint64_t id, std::uint32_t expect, std::uint64_t cluster = 0) {
  handshake i;
  i.self = server(id);
  i.datacenter = "dc1";
  i.expect = expect;
  i.cluster_id = cluster;
  return i;
}

} // namespace

TEST_CASE(
    "before there is a cluster it reports which servers are heard with which bootstrap_expect, and which are not") {
  auto f = one_that_expects(3);
  CHECK(why_leaderless(f, {}, {}, {"10.0.0.1:8300", "10.0.0.2:8300"}) ==
        "3 servers with the same bootstrap_expect must discover each other, and 1 have, including this one; heard: "
        "none; not heard: 10.0.0.2:8300");
  CHECK_FALSE(f.met(peer(2, 3)));
  CHECK_FALSE(f.met(peer(3, 5)));
  CHECK(
      why_leaderless(f, {}, {}, {"10.0.0.2:8300", "10.0.0.4:8300"}) ==
      "3 servers with the same bootstrap_expect must discover each other, and 2 have, including this one; heard: n2 at "
      "10.0.0.2:8300 (bootstrap_expect 3), n3 at 10.0.0.3:8300 (bootstrap_expect 5, not 3); not heard: 10.0.0.4:8300");
  CHECK_FALSE(f.met(peer(4, 3)));
  CHECK(why_leaderless(f, {}, {}, {}).starts_with("the servers are agreeing on the first configuration; heard: "));
  CHECK_FALSE(f.met(peer(5, 3, 77)));
  CHECK(why_leaderless(f, {}, {}, {}).starts_with("there is a cluster that has not admitted this server; heard: "));
  CHECK(why_leaderless(one_that_expects(0), {}, {}, {}) ==
        "bootstrap_expect is not set: this server waits for a cluster to admit it; heard: none");
}

// It once contradicted itself: "heard: e1 at 127.0.0.1:12611 (of datacenter dc1); not heard:
// 127.0.0.1:12611".
TEST_CASE("a server of another datacenter that responds is not reported as missing") {
  auto f = one_that_expects(3);
  auto elsewhere = peer(2, 3);
  elsewhere.datacenter = "dc2";
  CHECK(f.met(elsewhere));
  CHECK(why_leaderless(f, {}, {}, {"10.0.0.2:8300", "10.0.0.3:8300"}) ==
        "3 servers with the same bootstrap_expect must discover each other, and 1 have, including this one; heard: n2 "
        "at 10.0.0.2:8300 (of datacenter dc2); not heard: 10.0.0.3:8300");
}

// With two of three disks full, all voters can communicate, and an election lasts for hours.
TEST_CASE("a full disk is reported as the obstacle to a leader") {
  auto f = one_that_expects(3);
  const auto config = configuration_of_voters({server(1), server(2), server(3)});
  auto full = peer(2, 3);
  full.disk_full = true;
  CHECK_FALSE(f.met(full));
  CHECK(why_leaderless(f, config, {node_id{2}, node_id{3}}, {}, true) ==
        "2 of the 3 voters are needed, and 3 can be reached, including this one; disk full: this one, n2; an election "
        "is in progress");
  // Reports of servers that are gone do not count.
  CHECK(why_leaderless(f, config, {node_id{3}}, {}) ==
        "2 of the 3 voters are needed, and 2 can be reached, including this one; missing: n2 at 10.0.0.2:8300; an "
        "election is in progress");
}

TEST_CASE("in a cluster it reports which voters are missing") {
  const auto f = one_that_expects(3);
  const auto config = configuration_of_voters({server(1), server(2), server(3)});
  CHECK(why_leaderless(f, config, {}, {}) ==
        "2 of the 3 voters are needed, and 1 can be reached, including this one; missing: n2 at 10.0.0.2:8300, n3 at "
        "10.0.0.3:8300");
  CHECK(why_leaderless(f, config, {node_id{3}}, {}) ==
        "2 of the 3 voters are needed, and 2 can be reached, including this one; missing: n2 at 10.0.0.2:8300; an "
        "election is in progress");
  CHECK(why_leaderless(f, configuration_of_voters({server(2), server(3)}), {node_id{2}, node_id{3}}, {}) ==
        "2 of the 2 voters are needed, and 2 can be reached; this server is no longer a member of its cluster");
}
