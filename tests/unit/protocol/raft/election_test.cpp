#include "tests/unit/protocol/raft/raft_cluster.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::raft;
using namespace belay::raft::testing;

TEST_CASE("a lone voter leads and commits without waiting for an election time") {
  raft_cluster c;
  c.start(1);
  c.tick_all();
  REQUIRE(c.leader() == 1);
  CHECK(c.core(1).may_serve_reads());
  CHECK(c.core(1).commit_index() == log_index{2}); // configuration, no-op
  CHECK(c.propose(1, "a") == log_index{3});
  CHECK(c.core(1).commit_index() == log_index{3});
  CHECK(c.node(1).applied == log_index{3});
  REQUIRE(c.core(1).read(7));
  const auto r = c.core(1).take_ready();
  REQUIRE(r.reads_confirmed.size() == 1); // in the same ready
  CHECK(r.reads_confirmed[0].index == log_index{3});
  c.tick_all();
  CHECK(c.core(1).lease_until() > c.now());
}

TEST_CASE("three nodes elect one leader, commit, and serve reads") {
  raft_cluster c;
  c.start(3);
  const auto l = c.elect();
  REQUIRE(l != 0);
  REQUIRE(c.propose(l, "a"));
  c.deliver_all();
  CHECK(c.core(l).commit_index() == c.core(l).last_index());
  REQUIRE(c.core(l).read(5));
  c.settle(l);
  CHECK(c.node(l).reads_confirmed.empty());
  c.deliver_all();
  REQUIRE(c.node(l).reads_confirmed.size() == 1);
  CHECK(c.node(l).reads_confirmed[0].id == 5);
  c.run(5);
  CHECK(c.core(l).lease_until() > c.now());
  CHECK(c.converge() == "");
}

// docs/internals/pitfalls.md R12
TEST_CASE("a follower with early ticks campaigns after an election time, and not before") {
  raft_cluster c;
  c.start(3);
  const auto l = c.elect();
  REQUIRE(l != 0);
  c.run(5);
  c.deliver_all();
  const std::uint64_t f = l == 1 ? 2 : 1;
  auto& follower = c.core(f);
  const auto lim = small_limits();
  const auto election_time = lim.tick * lim.election_ticks;
  // The leader has sent a message within the last heartbeats.
  for (int i = 0; i < 10 * lim.election_ticks; ++i)
    follower.tick(c.now() + election_time - lim.tick * (lim.heartbeat_ticks + 1));
  CHECK(follower.soft().role == role::follower);
  CHECK(follower.soft().leader == node_id{l});
  follower.tick(c.now() + election_time + lim.tick);
  CHECK(follower.soft().role == role::pre_candidate);
}

// docs/internals/pitfalls.md R12
TEST_CASE("a voter with an empty log protects its leader after a restart, too") {
  // It responded to the leader of its term, whose lease may rely on that before any entry.
  const auto answer_of = [](std::uint64_t term) {
    raft_cluster c;
    c.add_node(2);
    c.crash(2);
    c.node(2).hard = {term_id{term}, {}};
    c.restart(2);
    c.tick(2);
    c.in_flight().push_back({node_id{1}, node_id{2}, term_id{5}, vote_request{true, false, log_index{9}, term_id{4}}});
    c.deliver(0);
    REQUIRE(c.in_flight().size() == 1);
    const auto* reply = std::get_if<vote_reply>(&c.in_flight().front().body);
    REQUIRE(reply != nullptr);
    return reply->granted;
  };
  CHECK_FALSE(answer_of(4));
  CHECK(answer_of(0)); // has never responded to any leader
}

// Why was there an election? The reported cause must be the one that started it, not a later one.
TEST_CASE("a server reports why it started an election, and why it no longer leads") {
  raft_cluster c;
  c.start(3);
  const auto old = c.elect();
  REQUIRE(old != 0);
  c.run(5);
  const std::uint64_t other = old == 1 ? 2 : 1, third = 6 - old - other;
  CHECK(c.core(old).why_election() == election_cause::no_leader); // there was no leader before
  CHECK(c.core(old).why_stepped_down() == step_down_cause::none);

  SECTION("its leader fell silent") {
    c.partition({{old}, {other, third}});
    for (int i = 0; i < 100 && !c.core(other).is_leader() && !c.core(third).is_leader(); ++i)
      c.run(small_limits().election_ticks);
    const auto next = c.core(other).is_leader() ? other : third;
    REQUIRE(c.core(next).is_leader());
    CHECK(c.core(next).why_election() == election_cause::leader_silent);
    REQUIRE_FALSE(c.core(old).is_leader());
    CHECK(c.core(old).why_stepped_down() == step_down_cause::no_quorum);
  }

  SECTION("nobody wins") {
    c.partition({{1}, {2}, {3}});
    c.run(20 * small_limits().election_ticks);
    CHECK(c.core(other).soft().role == role::pre_candidate);
    CHECK(c.core(other).why_election() == election_cause::leader_silent); // it campaigns again for the same reason
  }

  SECTION("the leader transfers leadership") {
    REQUIRE(c.core(old).transfer_leadership(node_id{other}));
    c.run(3);
    c.deliver_all();
    REQUIRE(c.leader() == other);
    CHECK(c.core(other).why_election() == election_cause::requested_by_leader);
    CHECK(c.core(old).why_stepped_down() == step_down_cause::newer_term);
  }

  SECTION("the leader's disk stalls") {
    c.stall_disk(old, true);
    REQUIRE(c.propose(old, "a"));
    const auto lim = small_limits();
    for (int i = 0; i <= (lim.stall_elections + 1) * lim.election_ticks && c.core(old).is_leader(); ++i)
      c.run(1);
    REQUIRE_FALSE(c.core(old).is_leader());
    CHECK(c.core(old).why_stepped_down() == step_down_cause::stalled_disk);
  }
}

TEST_CASE("a lone voter reports that it is one") {
  raft_cluster c;
  c.start(1);
  c.tick_all();
  REQUIRE(c.leader() == 1);
  CHECK(c.core(1).why_election() == election_cause::only_voter);
}
