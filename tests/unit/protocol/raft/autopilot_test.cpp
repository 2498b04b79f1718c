// What the leader does about servers automatically: docs/internals/adr/0013, docs/contract/12.

#include "protocol/raft/autopilot.hpp"
#include "protocol/raft/formation.hpp"
#include "tests/unit/protocol/raft/raft_cluster.hpp"

#include <catch2/catch.hpp>

#include <set>
#include <utility>
#include <vector>

using namespace belay;
using namespace belay::raft;
using testing::make_config;
using testing::make_member;

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::set<node_id> ids(const std::vector<std::uint64_t>& values) {
  std::set<node_id> all;
  for (const auto n : values)
    all.insert(node_id{n});
  return all;
}

std::vector<std::uint64_t> values_of(const std::vector<node_id>& all) {
  std::vector<std::uint64_t> out;
  for (const auto id : all)
    out.push_back(id.value);
  return out;
}

using list = std::vector<std::uint64_t>;

/// A cluster of three voters, and how its leader handles servers that send a hello.
struct led_cluster {
  testing::raft_cluster c;
  std::uint64_t leader = 0;
  autopilot policy;
  std::optional<formation> admission;
  std::map<std::uint64_t, handshake> response;

  explicit led_cluster(std::uint64_t voters = 3, bool admit_newcomers = true) {
    c.start(voters);
    leader = c.elect();
    c.run(4);
    formation_settings s;
    s.admit_newcomers = admit_newcomers;
    s.lost_ticks = 50;
    admission.emplace(make_member(leader), "dc1", s, 77);
    for (std::uint64_t id = 1; id <= voters; ++id)
      if (id != leader)
        receives(id, false);
    autopilot_rules rules;
    rules.stabilization = tick * 40;
    policy.follow(rules);
  }
  static constexpr milliseconds tick = limits().tick;

  void receives(std::uint64_t id, bool replica) {
    handshake i;
    i.self = make_member(id);
    i.datacenter = "dc1";
    i.cluster_id = 77;
    i.has_replicas = true;
    i.replica = replica;
    response[id] = i;
    CHECK_FALSE(admission->met(i));
  }
  configuration config() { return c.core(leader).config(); }
  list voters() { return values_of(config().voters); }
  list learners() { return values_of(config().learners); }
  /// One tick of the leader: a server that was silent for a while is not healthy.
  void look() {
    auto& core = c.core(leader);
    policy.begin_look(core, c.now());
    policy.saw(node_id{leader}, true);
    for (const auto& p : core.progress())
      policy.saw(p.id, p.silent_ticks < 8 && p.match == core.last_index());
    if (auto next = admission->next_configuration(core, &policy))
      (void)core.propose_configuration(*next, c.wall());
    else if (auto without = policy.cleanup_is_due() ? admission->without_dead(core, policy) : std::nullopt)
      (void)core.propose_configuration(*without, c.wall());
    else if (auto fewer = admission->next_demotion(core, policy))
      (void)core.propose_configuration(*fewer, c.wall());
  }
  void run(int ticks) {
    for (; ticks > 0; --ticks) {
      look();
      c.run(1);
    }
  }
  /// @returns ticks until that holds; -1: not within `limit`
  template <class F>
  int until(F&& holds, int limit = 1000) {
    for (int i = 0; i < limit; ++i, run(1))
      if (holds())
        return i;
    return -1;
  }
  void gone(std::uint64_t id) {
    c.crash(id);
    admission->lost(node_id{id});
  }
};

} // namespace

TEST_CASE("dead servers are removed as in Consul", "[autopilot]") {
  struct row {
    list voters, learners, dead;
    std::uint64_t min_quorum;
    list voters_left, learners_left;
  };
  const row rows[] = {
      {{1, 2, 3}, {4, 5}, {4}, 0, {1, 2, 3}, {5}},           // a replica at once
      {{1, 2, 3}, {4}, {3}, 0, {1, 2, 3}, {4}},              // one of three is less than half, rounded down
      {{1, 2, 3, 4}, {}, {3}, 0, {1, 2, 4}, {}},             // its successor has come
      {{1, 2, 3, 4, 5}, {}, {3}, 0, {1, 2, 4, 5}, {}},       //
      {{1, 2, 3, 4, 5}, {}, {2, 3}, 0, {1, 2, 3, 4, 5}, {}}, // too many at once
      {{1, 2, 3, 4, 5, 6}, {}, {2, 3}, 0, {1, 4, 5, 6}, {}},
      {{1, 2, 3, 4, 5}, {}, {3}, 5, {1, 2, 3, 4, 5}, {}}, // this many must stay
      {{1, 2, 3, 4, 5}, {6}, {3, 6}, 5, {1, 2, 3, 4, 5}, {}},
      {{1, 2, 3, 4, 5}, {}, {3}, 4, {1, 2, 4, 5}, {}},
      {{1}, {2}, {2}, 0, {1}, {}},
      {{1, 2, 3}, {}, {}, 0, {1, 2, 3}, {}},
  };
  for (const auto& r : rows) {
    autopilot policy;
    autopilot_rules rules;
    rules.min_quorum = r.min_quorum;
    policy.follow(rules);
    const auto now = make_config(r.voters, r.learners);
    const auto next = policy.without_dead(now, ids(r.dead));
    const auto left = next.value_or(now);
    CHECK(values_of(left.voters) == r.voters_left);
    CHECK(values_of(left.learners) == r.learners_left);
    CHECK(left.members.size() == r.voters_left.size() + r.learners_left.size());
    CHECK(next.has_value() == (left != now));
  }
}

TEST_CASE("a server that joins votes when it has been healthy for the stabilisation time, without a break",
          "[autopilot]") {
  led_cluster t;
  t.c.add_node(4);
  t.receives(4, false);
  REQUIRE(t.until([&] { return t.learners() == list{4}; }) >= 0);
  t.run(30);
  CHECK(t.learners() == list{4});
  // After a short silence of the new server its stabilization time starts again.
  t.c.cut(t.leader, 4);
  t.run(12);
  t.c.join(t.leader, 4);
  t.run(30);
  CHECK(t.learners() == list{4});
  const auto took = t.until([&] { return t.voters().size() == 4; });
  CHECK(took >= 0);
  CHECK(took < 40);
}

TEST_CASE("a new leader waits again before it makes a server a voter", "[autopilot]") {
  led_cluster t;
  autopilot_rules rules;
  rules.stabilization = seconds(1);
  t.policy.follow(rules);
  t.run(1);
  CHECK_FALSE(t.policy.may_vote(node_id{t.leader})); // it was in contact just now
  t.run(60);
  CHECK(t.policy.may_vote(node_id{t.leader}));
  const auto follower = t.leader == 1 ? node_id{2} : node_id{1};
  CHECK(t.policy.may_vote(follower));
  t.policy.lost(follower); // it may have restarted between two ticks
  t.run(1);
  CHECK_FALSE(t.policy.may_vote(follower));
  const auto before = t.leader;
  t.c.crash(before);
  t.leader = t.c.elect();
  REQUIRE(t.leader != before);
  t.policy.begin_look(t.c.core(t.leader), t.c.now());
  CHECK_FALSE(t.policy.may_vote(node_id{t.leader}));
  CHECK_FALSE(t.policy.unchanged_since(node_id{t.leader}));
}

TEST_CASE("a replica gets the log and never a vote; configured as a voter it gets one", "[autopilot]") {
  led_cluster t;
  t.c.add_node(4);
  t.receives(4, true);
  t.run(300);
  CHECK(t.voters() == list{1, 2, 3});
  CHECK(t.learners() == list{4});
  REQUIRE(t.c.propose(t.leader, "x"));
  t.run(5);
  CHECK(t.c.core(4).commit_index() == t.c.core(t.leader).commit_index());
  t.receives(4, false);
  CHECK(t.until([&] { return t.voters() == list{1, 2, 3, 4} && !t.config().joint(); }) >= 0);
  CHECK(t.learners().empty());
}

TEST_CASE("a voter that is to be a replica loses its vote, if it does not lead and enough stay", "[autopilot]") {
  led_cluster t;
  const auto other = t.leader == 1 ? 2u : 1u;
  autopilot_rules rules;
  SECTION("enough") {
    t.receives(other, true);
    CHECK(t.until([&] { return t.learners() == list{other} && !t.config().joint(); }) >= 0);
    CHECK(t.voters().size() == 2);
    // Of the last two servers one leaves: the leader continues alone.
    const auto third = 6 - t.leader - other;
    t.receives(third, true);
    CHECK(t.until([&] { return t.voters() == list{t.leader} && !t.config().joint(); }) >= 0);
    CHECK(t.c.propose(t.leader, "alone"));
  }
  SECTION("min_quorum is 3") {
    rules.min_quorum = 3;
    t.policy.follow(rules);
    t.receives(other, true);
    t.run(200);
    CHECK(t.voters().size() == 3);
    rules.min_quorum = 2;
    t.policy.follow(rules);
    CHECK(t.until([&] { return t.voters().size() == 2; }) >= 0);
  }
  SECTION("too few of the remaining servers are in contact") {
    t.run(60);
    t.gone(6 - t.leader - other);
    t.run(9);
    t.receives(other, true);
    t.run(60);
    CHECK(t.voters().size() == 3);
    CHECK(t.c.core(t.leader).is_leader());
  }
  SECTION("the leader itself transfers leadership to a server that is to vote") {
    formation_settings s;
    s.replica = true;
    t.admission.emplace(make_member(t.leader), "dc1", s, 77);
    t.receives(other, true);
    t.receives(6 - t.leader - other, false);
    CHECK(t.admission->heirs(t.config()) == std::vector<node_id>{node_id{6 - t.leader - other}});
    CHECK(t.admission->is_replica(node_id{t.leader}));
  }
}

TEST_CASE("dead servers are removed, and added again when they return", "[autopilot]") {
  led_cluster t(5);
  t.c.add_node(6);
  t.receives(6, true);
  REQUIRE(t.until([&] { return t.learners() == list{6}; }) >= 0);
  const auto other = t.leader == 1 ? 2u : 1u;

  SECTION("a replica and a voter") {
    t.gone(6);
    t.gone(other);
    CHECK(t.until([&] { return t.config().members.size() == 4 && !t.config().joint(); }, 1500) >= 0);
    t.c.restart(6);
    t.receives(6, true);
    t.c.restart(other);
    t.receives(other, false);
    CHECK(t.until([&] { return t.voters().size() == 5 && t.learners() == list{6}; }, 1500) >= 0);
  }
  SECTION("not while they are connected, or if operators have turned it off") {
    autopilot_rules rules;
    SECTION("connected") {
      t.c.crash(6);
    }
    SECTION("turned off") {
      t.gone(6);
      rules.cleanup_dead_servers = false;
    }
    t.policy.follow(rules);
    t.run(1000);
    CHECK(t.config().members.size() == 6);
  }
  SECTION("not if they would need an operator to come back") {
    formation_settings s;
    s.lost_ticks = 50;
    const auto all = t.response;
    t.admission.emplace(make_member(t.leader), "dc1", s, 77);
    bool proven = false;
    SECTION("some have presented no credentials") {}
    SECTION("all have authenticated") {
      proven = true;
    }
    for (auto [id, i] : all) {
      i.proven = proven;
      (void)t.admission->met(i);
    }
    t.gone(6);
    t.run(1000);
    CHECK(t.config().contains(node_id{6}) == !proven);
  }
}

TEST_CASE("a replica takes nothing from a leader that would make a voter of it", "[autopilot]") {
  formation_settings s;
  s.expect = 3;
  s.replica = true;
  formation f(make_member(9), "dc1", s, 0);
  handshake i;
  i.self = make_member(1);
  i.datacenter = "dc1";
  i.cluster_id = 77;
  REQUIRE_FALSE(f.met(i));
  CHECK_FALSE(f.may_learn_from(node_id{1}, {}));
  CHECK_FALSE(f.may_learn_from(node_id{1}, make_config({1, 2, 3}, {9})));
  CHECK(f.may_learn_from(node_id{1}, make_config({1, 2, 9}))); // a voter is needed while it is one
  i.has_replicas = true;
  REQUIRE_FALSE(f.met(i));
  CHECK(f.may_learn_from(node_id{1}, {}));
  CHECK_FALSE(f.may_learn_from(node_id{2}, {})); // has not sent a hello
  // It does not count for a first configuration, and makes none.
  CHECK(f.own().expect == 0);
  CHECK(f.own().replica);
  f.tick(true);
  CHECK_FALSE(f.next_promise());

  formation alone(make_member(1), "dc1", {.expect = 2}, 0);
  auto replica = f.own();
  replica.expect = 2;
  (void)alone.met(replica);
  alone.tick(true);
  CHECK_FALSE(alone.next_promise());
}

TEST_CASE("an unverified server in the place of a lost replica is added only by an operator", "[autopilot]") {
  // As a learner it would be an additional voter as soon as it reported that it is not a replica.
  formation_settings s;
  formation f(make_member(1), "dc1", s, 77);
  const auto config = make_config({1, 2, 3}, {4});
  handshake i;
  i.self = make_member(9);
  i.self.name = make_member(4).name;
  i.self.address = make_member(4).address;
  i.replica = true;
  CHECK_FALSE(f.admits(i, config));
  f.admit(i.self.address);
  CHECK(f.admits(i, config));
}
