// Servers without a vote (docs/internals/adr/0013): what they answer, and which servers get a vote when.

#include "protocol/http/operators/health_report.hpp"
#include "tests/actors/cluster_fixture.hpp"

#include <caf/send.hpp>

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using http::consistency;

namespace {

/// Three voters, and one replica that needs no admission.
cluster_options with_replica() {
  cluster_options o;
  o.nodes = 4;
  o.expect = 3;
  o.replicas = {3};
  o.admit_newcomers = true;
  return o;
}

constexpr std::size_t replica = 3;

bool is_learner(cluster_fixture& c, std::size_t through, std::size_t node) {
  const auto& config = c.view(through).config;
  return config.contains(c.id_of(node)) && !config.is_voter(c.id_of(node)) && !config.joint();
}

bool is_voter(cluster_fixture& c, std::size_t through, std::size_t node) {
  return c.view(through).config.is_voter(c.id_of(node)) && !c.view(through).config.joint();
}

std::string health_text(cluster_fixture& c, std::size_t through) {
  const auto w = c.written(c.operate(through, forward::describe_health{200'000'000, 250, "v"}));
  const auto* text = std::get_if<std::string>(&w.reply);
  return text != nullptr ? *text : w.text;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1))
    ++n;
  return n;
}

} // namespace

TEST_CASE("a read replica answers all kinds of reads and forwards writes", "[actors][replicas]") {
  cluster_fixture c(with_replica());
  const auto leader = c.leader({0, 1, 2});
  REQUIRE(c.until([&] { return is_learner(c, leader, replica); }));
  const auto first = c.put_done(leader, "k", "1");
  for (const auto mode : {consistency::normal, consistency::consistent})
    CHECK(value_of(c.found(c.get(replica, "k", mode))) == "1");
  CHECK(c.stale(replica, "k") == "1");
  // A query blocks here and is answered from here.
  const auto watch = c.read(replica, state::kv_get{"k"}, consistency::normal, first.value);
  c.pass(milliseconds(300));
  CHECK_FALSE(c.answered(watch));
  c.put_done(replica, "k", "2");
  CHECK(value_of(c.found(watch)) == "2");
  CHECK(value_of(c.found(c.get(replica, "k", consistency::consistent))) == "2");
  const auto session = c.session(replica, seconds(10));
  const auto renewal = c.renew(replica, session);
  REQUIRE(c.until([&] { return c.answered(renewal); }));
  CHECK(c.answers(renewal).renewals.at(0).ok);

  const auto health = health_text(c, replica);
  CHECK(health.starts_with(R"({"Healthy":true,"FailureTolerance":1)"));
  CHECK(count(health, R"("Voter":false)") == 1);
  CHECK(count(health, R"("Voter":true)") == 3);
}

TEST_CASE(
    "a read replica does not count for a majority: with one voter of three no server leads, and stale reads continue",
    "[actors][replicas]") {
  cluster_fixture c(with_replica());
  const auto leader = c.leader({0, 1, 2});
  REQUIRE(c.until([&] { return is_learner(c, leader, replica); }));
  c.put_done(leader, "k", "1");
  c.pass(milliseconds(200));
  const auto others = [&] {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < 3; ++i)
      if (i != leader)
        all.push_back(i);
    return all;
  }();
  for (const auto i : others)
    c.crash(i, true);
  c.pass(seconds(10));
  CHECK_FALSE(c.serving(leader));
  CHECK_FALSE(c.serving(replica));
  CHECK(c.view(replica).soft.role == raft::role::follower);
  CHECK(c.stale(replica, "k") == "1");
  CHECK(failed(c.found(c.get(replica, "k"))));
  c.start(others.front());
  const auto now = c.leader({leader, others.front()});
  CHECK(now != replica);
  CHECK(value_of(c.found(c.get(replica, "k"))) == "1");
}

TEST_CASE("leadership is not given to a read replica", "[actors][replicas]") {
  cluster_fixture c(with_replica());
  const auto leader = c.leader({0, 1, 2});
  REQUIRE(c.until([&] { return is_learner(c, leader, replica); }));
  caf::anon_send(c.peer(leader), leadership_transfer{c.id_of(replica)});
  c.pass(seconds(3));
  CHECK(c.serving(leader));
  CHECK_FALSE(c.serving(replica));
}

TEST_CASE("a read replica that is to vote is promoted after the stabilisation time, and a voter becomes a replica",
          "[actors][replicas]") {
  auto o = with_replica();
  o.peer.autopilot.server_stabilization_ns = std::chrono::nanoseconds(seconds(5)).count();
  cluster_fixture c(o);
  auto leader = c.leader({0, 1, 2});
  REQUIRE(c.until([&] { return is_learner(c, leader, replica); }));
  c.pass(seconds(20));
  CHECK(is_learner(c, leader, replica));
  c.crash(replica);
  c.set_replica(replica, false);
  c.start(replica);
  c.pass(seconds(4));
  CHECK(is_learner(c, leader, replica));
  REQUIRE(c.until([&] { return is_voter(c, leader, replica); }, seconds(5)));

  // A follower.
  const auto follower = leader == 0 ? std::size_t{1} : std::size_t{0};
  c.crash(follower);
  c.set_replica(follower, true);
  c.start(follower);
  REQUIRE(c.until([&] { return is_learner(c, leader, follower); }));
  // Then the leader restarts as a replica: the next leader takes its vote.
  const auto before = leader;
  c.crash(before);
  c.set_replica(before, true);
  c.start(before);
  c.pass(seconds(2));
  leader = c.leader();
  CHECK(leader != before);
  REQUIRE(c.until([&] { return is_learner(c, leader, before); }));
  CHECK(c.view(leader).config.voters.size() == 2);
  c.put_done(before, "k", "still written");
  CHECK(c.stale(before, "k") == "still written");
}

TEST_CASE("a leader that is to be a read replica hands over to the voter that is not", "[actors][replicas]") {
  cluster_options o;
  o.seed = GENERATE(1u, 2u, 3u, 4u);
  CAPTURE(o.seed);
  cluster_fixture c(o);
  c.put_done(c.leader(), "k", "1");
  for (std::size_t i = 0; i < 3; ++i)
    c.crash(i);
  for (std::size_t i = 0; i < 3; ++i) {
    c.set_replica(i, i != 2);
    c.start(i);
  }
  REQUIRE(c.until([&] { return c.serving(2) && is_learner(c, 2, 0) && is_learner(c, 2, 1); }));
  CHECK(c.view(2).config.voters.size() == 1);
  c.pass(seconds(3));
  CHECK(value_of(c.found(c.get(0, "k"))) == "1");
  CHECK(value_of(c.found(c.get(1, "k"))) == "1");
}

TEST_CASE("a server configured as a read replica that is the only voter continues to lead", "[actors][replicas]") {
  cluster_options o;
  o.nodes = 1;
  cluster_fixture c(o);
  c.leader();
  c.put_done(0, "k", "1");
  c.crash(0);
  c.set_replica(0, true);
  c.start(0);
  CHECK(c.leader() == 0);
  c.pass(seconds(5));
  CHECK(c.serving(0));
  c.put_done(0, "k", "2");
}

TEST_CASE("a read replica does not follow a leader without support for replicas", "[actors][replicas]") {
  // That version would make it a voter.
  auto o = with_replica();
  o.older = {0, 1, 2};
  cluster_fixture c(o);
  auto leader = c.leader({0, 1, 2});
  c.put_done(leader, "k", "1");
  c.pass(seconds(20));
  CHECK(c.log(replica).kept().entries.empty());
  CHECK(c.cluster_id(replica) == 0);
  // Each is upgraded to this version, and the replica follows as soon as an upgraded one leads.
  for (std::size_t i = 0; i < 3; ++i) {
    c.crash(i);
    c.set_older(i, false);
    c.start(i);
    leader = c.leader({0, 1, 2});
  }
  REQUIRE(c.until([&] { return is_learner(c, leader, replica); }));
  c.pass(seconds(1));
  CHECK(c.stale(replica, "k") == "1");
  // An older one leads again: nothing more arrives, and the present state stays readable.
  for (std::size_t i = 0; i < 3; ++i) {
    c.crash(i);
    c.set_older(i, true);
    c.start(i);
    leader = c.leader({0, 1, 2});
  }
  c.put_done(leader, "k", "2");
  c.pass(seconds(20));
  CHECK(c.stale(replica, "k") == "1");
  CHECK(is_learner(c, leader, replica));
}

TEST_CASE("a lost read replica is removed, and added again when it returns", "[actors][replicas]") {
  auto o = with_replica();
  o.peer.autopilot.cleanup_dead_servers = true;
  cluster_fixture c(o);
  const auto leader = c.leader({0, 1, 2});
  REQUIRE(c.until([&] { return is_learner(c, leader, replica); }));
  c.crash(replica);
  c.pass(seconds(3));
  CHECK(is_learner(c, leader, replica)); // as long as a restart may take
  REQUIRE(c.until([&] { return !c.view(leader).config.contains(c.id_of(replica)); }, seconds(30)));
  CHECK(health_text(c, leader).starts_with(R"({"Healthy":true)"));
  c.put_done(leader, "k", "1");
  c.start(replica);
  REQUIRE(c.until([&] { return is_learner(c, leader, replica); }));
  CHECK(value_of(c.found(c.get(replica, "k"))) == "1");

  SECTION("one of three voters stays a member") {
    const auto voter = leader == 0 ? std::size_t{1} : std::size_t{0};
    c.crash(voter);
    c.pass(seconds(40));
    CHECK(is_voter(c, leader, voter));
  }
  SECTION("operators have turned that off") {
    state::autopilot_set set;
    set.wanted.cleanup_dead_servers = false;
    CHECK(c.written(c.write(leader, set)).outcome == wire::call_outcome::done);
    c.pass(seconds(1));
    c.crash(replica);
    c.pass(seconds(40));
    CHECK(is_learner(c, leader, replica));
  }
}

TEST_CASE("a leader writes the autopilot settings of its configuration once, if there are none", "[actors][replicas]") {
  cluster_options o;
  o.machine.autopilot.emplace();
  o.machine.autopilot->min_quorum = 3;
  cluster_fixture c(o);
  auto leader = c.leader();
  const auto min_quorum = [&](std::size_t through) {
    const auto r = c.found(c.read(through, state::autopilot_get{}, consistency::stale));
    return std::get<state::autopilot_ptr>(std::get<state::query_result>(r.answer).data)->min_quorum;
  };
  c.pass(seconds(2));
  REQUIRE(min_quorum(leader) == 3);
  state::autopilot_set set;
  set.wanted.min_quorum = 1;
  CHECK(c.written(c.write(leader, set)).outcome == wire::call_outcome::done);
  c.crash(leader);
  c.pass(seconds(5));
  CHECK(min_quorum(c.leader()) == 1);
}
