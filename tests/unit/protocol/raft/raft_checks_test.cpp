// Messages are checked first: far terms, unknown servers, transfers that were not requested.
#include "tests/unit/protocol/raft/raft_cluster.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::raft;
using namespace belay::raft::testing;

namespace {

constexpr node_id unverified{9};

struct named_body {
  const char* name;
  message_body body;
};

/// Requests that only servers of the cluster may send; accepted from the right sender and term.
std::vector<named_body> requests(const raft::core& to) {
  snapshot_meta meta{log_index{1000}, to.term(), {}, make_config({9})};
  return {{"append", append_entries{to.last_index(), to.term_at(to.last_index()), to.commit_index(), 1, {}}},
          {"pre-vote", vote_request{true, true, log_index{1000}, to.term()}},
          {"vote", vote_request{false, true, log_index{1000}, to.term()}},
          {"snapshot", snapshot_chunk{meta, 0, make_payload("x"), false}},
          {"transfer", timeout_now{}}};
}

std::vector<named_body> replies() {
  return {{"append reply", append_reply{true, log_index{2}, {}, {}, {}, 1}},
          {"vote reply", vote_reply{false, true}},
          {"refused pre-vote", vote_reply{true, false}},
          {"snapshot reply", snapshot_reply{log_index{1}, 0, true, false}}};
}

std::string state_of(const raft::core& c) {
  return c.describe() + " heard=" + std::to_string(c.ticks_since_leader());
}

} // namespace

TEST_CASE("a term far above this server's changes nothing, in any message") {
  raft_cluster c;
  c.start(3);
  const auto l = c.elect();
  c.run(3);
  for (const auto id : c.ids()) {
    auto all = requests(c.core(id));
    for (auto& r : replies())
      all.push_back(r);
    for (const auto& each : all) {
      INFO(each.name << " to " << id);
      const auto from = id == l ? l % 3 + 1 : l;
      const auto before = state_of(c.core(id));
      const auto hard = c.node(id).hard;
      for (const auto leap : {(std::uint64_t{1} << 32) + 1, std::uint64_t{1} << 61}) {
        c.core(id).step({node_id{from}, node_id{id}, term_id{c.core(id).term().value + leap}, each.body}, c.now());
        c.settle(id);
        CHECK(c.node(id).hard == hard);
        CHECK(state_of(c.core(id)) == before);
        CHECK(c.in_flight().empty());
      }
    }
  }
}

TEST_CASE("a term that is far above, but not too far, is followed") {
  raft_cluster c;
  c.start(3);
  const auto l = c.elect();
  const auto far = term_id{c.core(l).term().value + (std::uint64_t{1} << 32)};
  c.core(l).step({node_id{l % 3 + 1}, node_id{l}, far, append_reply{}}, c.now());
  CHECK(c.core(l).term() == far);
}

TEST_CASE("requests of a server that is not a member change nothing and are not answered") {
  raft_cluster c;
  c.handshakes = false;
  c.start(3);
  const auto l = c.elect();
  c.run(3);
  for (const auto id : c.ids())
    for (const auto& each : requests(c.core(id)))
      for (const std::uint64_t ahead : {0, 1, 7}) {
        INFO(each.name << " to " << id);
        const auto before = state_of(c.core(id));
        c.core(id).step({unverified, node_id{id}, term_id{c.core(id).term().value + ahead}, each.body}, c.now());
        c.settle(id);
        CHECK(state_of(c.core(id)) == before);
        CHECK(c.in_flight().empty());
      }
  CHECK(c.leader() == l);
}

TEST_CASE("a server without a cluster follows every leader") {
  raft_cluster c;
  c.add_node(2);
  CHECK(c.core(2).counts(unverified));
  c.core(2).step({unverified, node_id{2}, term_id{5}, append_entries{}}, c.now());
  c.settle(2);
  CHECK(c.core(2).soft().leader == unverified);
}

TEST_CASE("a server that is added follows its leader, although the log begins with others' configurations") {
  raft_cluster c;
  c.handshakes = false;
  c.add_node(2);
  const raft::entry first{
      log_index{1}, term_id{1}, {}, entry_kind::configuration, make_payload(encode(make_config({3, 4, 5})))};
  c.core(2).step({node_id{6}, node_id{2}, term_id{5}, append_entries{{}, {}, {}, 1, {first}}}, c.now());
  c.settle(2);
  REQUIRE_FALSE(c.core(2).config().empty());
  CHECK(c.core(2).counts(node_id{6}));
  CHECK(c.core(2).counts(node_id{4}));
  CHECK_FALSE(c.core(2).counts(unverified));
}

TEST_CASE("a server that was removed accepts only members' messages") {
  raft_cluster c;
  c.start(3);
  const auto l = c.elect();
  const auto removed = l % 3 + 1;
  std::vector<std::uint64_t> rest;
  for (const auto id : c.ids())
    if (id != removed)
      rest.push_back(id);
  REQUIRE_FALSE(c.core(l).propose_configuration(make_config(rest), c.wall()));
  c.settle(l);
  c.run(20);
  REQUIRE_FALSE(c.core(removed).config().contains(node_id{removed}));
  CHECK(c.core(removed).counts(node_id{l}));
  CHECK_FALSE(c.core(removed).counts(unverified));
}

TEST_CASE("a leader that removes itself leaves once no server serves reads under its lease") {
  raft_cluster c;
  c.start(3);
  const auto l = c.elect();
  c.run(4); // it has a lease
  std::vector<std::uint64_t> others;
  for (const auto id : c.ids())
    if (id != l)
      others.push_back(id);
  c.node(l).readers_slow = true;
  const auto lease = c.core(l).lease_until();
  REQUIRE(lease > c.now());
  REQUIRE_FALSE(c.core(l).propose_configuration(make_config(others), c.wall()));
  c.settle(l);
  c.deliver_all();
  CHECK(c.core(l).lease_until() == local_time{0});
  REQUIRE(c.core(l).config().joint());
  SECTION("until they have received that, the configuration keeps it, and no server is requested to campaign") {
    while (c.now() + small_limits().tick < lease) {
      c.run(1);
      REQUIRE(c.leader() == l);
      for (const auto id : others)
        REQUIRE(c.core(id).config().is_voter(node_id{l}));
    }
    c.run(10); // the lease would have expired
  }
  SECTION("as soon as they have received that") {
    c.core(l).lease_given_up();
    c.settle(l);
    CHECK_FALSE(c.core(l).config().joint());
    c.run(3);
  }
  CHECK(c.leader() != l);
  CHECK(c.leader() != 0);
}

namespace {

/// 3 is cut off while 4 joins and becomes the leader. @returns 4's id if that happened
std::uint64_t led_by_a_joining_member(raft_cluster& c) {
  c.start(3);
  auto l = c.elect();
  while (l == 3) {
    c.core(l).transfer_leadership(node_id{1});
    c.settle(l);
    c.run(10);
    l = c.elect();
  }
  c.partition({{1, 2, 4}, {3}});
  c.add_node(4);
  const auto change = [&](const configuration& to) {
    const auto refused = c.core(l).propose_configuration(to, c.wall());
    c.settle(l);
    c.run(8);
    return !refused;
  };
  if (!change(make_config({1, 2, 3}, {4})) || !change(make_config({1, 2, 3, 4})))
    return 0;
  c.core(l).transfer_leadership(node_id{4});
  c.settle(l);
  c.run(10);
  return c.leader();
}

} // namespace

TEST_CASE("a server that was away follows a leader that its log does not name, once members have named it") {
  raft_cluster c;
  REQUIRE(led_by_a_joining_member(c) == 4);
  REQUIRE_FALSE(c.core(3).config().contains(node_id{4}));

  SECTION("from the server that introduces it") {
    c.handshakes = false;
    c.heal();
    c.cut(3, 1);
    c.cut(3, 2);
    c.run(30);
    CHECK(c.core(3).soft().leader != node_id{4});
    CHECK(c.core(3).commit_index() < c.core(4).commit_index());
    c.core(3).members_received(unverified, {node_id{4}, unverified}); // which is not trusted
    CHECK_FALSE(c.core(3).counts(node_id{4}));
    CHECK_FALSE(c.core(3).counts(unverified));
    c.core(3).members_received(node_id{1}, {node_id{1}, node_id{2}, node_id{3}, node_id{4}});
    CHECK(c.core(3).counts(node_id{4}));
    c.run(30);
    CHECK(c.core(3).soft().leader == node_id{4});
    CHECK(c.core(3).commit_index() == c.core(4).commit_index());
  }
  SECTION("as servers do on their own") {
    CHECK(c.converge() == "");
  }
}

TEST_CASE("a vote is given to a candidate that this server's log does not name, once members have named it") {
  // 2 is gone, so 4 needs the vote of 3, which does not know 4.
  raft_cluster c;
  REQUIRE(led_by_a_joining_member(c) == 4);
  c.propose(4, "only on 4"); // no other server can lead now
  c.partition({{4}, {1}, {2}, {3}});
  c.run(60);
  REQUIRE(c.leader() == 0);
  c.crash(2);
  c.heal();
  c.cut(2, 1);
  const auto next = c.elect(400);
  CHECK(next == 4);
}

TEST_CASE("a leadership transfer counts only from the leader that is followed") {
  raft_cluster c;
  c.start(3);
  const auto l = c.elect();
  c.run(3);
  const auto transfer_target = l % 3 + 1, third = transfer_target % 3 + 1;
  const auto term = c.core(transfer_target).term();
  const auto before = state_of(c.core(transfer_target));
  c.core(transfer_target).step({node_id{third}, node_id{transfer_target}, term, timeout_now{}}, c.now());
  c.core(transfer_target).step({unverified, node_id{transfer_target}, term, timeout_now{}}, c.now());
  c.settle(transfer_target);
  CHECK(state_of(c.core(transfer_target)) == before);
  c.core(transfer_target).step({node_id{l}, node_id{transfer_target}, term, timeout_now{}}, c.now());
  CHECK(c.core(transfer_target).term() == term.next());
}
