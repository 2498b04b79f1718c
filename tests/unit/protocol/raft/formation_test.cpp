// How servers form one cluster, and never two.

#include "protocol/raft/formation.hpp"
#include "tests/unit/protocol/raft/raft_cluster.hpp"

#include <catch2/catch.hpp>

#include <utility>
#include <vector>

using namespace belay;
using namespace belay::raft;

namespace {

member server(std::uint64_t id) {
  const auto n = std::to_string(id);
  return {node_id{id}, "00000000-0000-4000-8000-00000000000" + n, "n" + n, "127.0.0.1:830" + n};
}

void identify(formation& to, const formation& from) {
  (void)to.met(from.own());
}

/// All that discovery can find is found.
formation of(std::uint64_t id, std::uint32_t expect, std::uint64_t cluster = 0, promise kept = {}) {
  formation_settings s;
  s.expect = expect;
  s.timeout_ticks = 4;
  s.give_up_ticks = 10;
  formation f(server(id), "dc1", s, cluster, std::move(kept));
  f.tick(true);
  return f;
}

/// Makes the next promise, if any. @returns whether there was one
bool promise_next(formation& f) {
  auto p = f.next_promise();
  if (p)
    f.promised(*p);
  return p.has_value();
}

/// All servers exchange hellos, and may then promise a set.
void meet(std::vector<formation*> all) {
  for (auto* to : all)
    for (auto* from : all)
      if (to != from)
        identify(*to, *from);
  for (auto* f : all)
    (void)promise_next(*f);
}

std::vector<std::uint64_t> ids_of(const promise& p) {
  std::vector<std::uint64_t> ids;
  for (const auto& m : p.set)
    ids.push_back(m.id.value);
  return ids;
}

using numbers = std::vector<std::uint64_t>;

handshake sent_by(const member& m, bool proven = false) {
  handshake i;
  i.self = m;
  i.datacenter = "dc1";
  i.cluster_id = 77;
  i.proven = proven;
  return i;
}

/// Three servers, one of which is down, and how their leader handles servers that send a hello.
struct cluster_with_one_lost {
  testing::raft_cluster c;
  std::uint64_t leader, other, lost;
  formation_settings settings;
  std::optional<formation> admission;

  explicit cluster_with_one_lost(bool admit_newcomers = false) {
    c.start(3);
    leader = c.elect();
    c.run(4);
    other = leader == 1 ? 2 : 1;
    lost = 6 - leader - other;
    c.crash(lost);
    settings.lost_ticks = 50;
    settings.admit_newcomers = admit_newcomers;
    admission.emplace(testing::make_member(leader), "dc1", settings, 77);
    receives(testing::make_member(other));
  }
  void receives(const member& m, bool proven = false) { CHECK_FALSE(admission->met(sent_by(m, proven))); }
  std::optional<configuration> next() { return admission->next_configuration(c.core(leader)); }
  /// Carries out the next steps for this many ticks. @returns the maximum number of voters
  std::size_t run(int ticks) {
    std::size_t most = 0;
    for (; ticks > 0; --ticks) {
      admission->forget_admissions(c.core(leader).meta_at_commit().config);
      if (const auto n = next())
        (void)c.core(leader).propose_configuration(*n, c.wall());
      c.run(1);
      most = std::max(most, config().voters.size());
    }
    return most;
  }
  configuration config() { return c.core(leader).config(); }
  bool learns(std::uint64_t id) { return config().contains(node_id{id}) && !config().is_voter(node_id{id}); }
  bool votes(std::uint64_t id) { return config().is_voter(node_id{id}) && !config().joint(); }
  /// A server with another id, and the name and address of that one.
  member in_place_of(std::uint64_t id, std::uint64_t new_id) {
    auto m = testing::make_member(new_id);
    m.name = testing::make_member(id).name;
    m.address = testing::make_member(id).address;
    return m;
  }
};

} // namespace

TEST_CASE("a lone server that expects one bootstraps itself") {
  auto f = of(1, 1);
  REQUIRE(promise_next(f));
  auto first = f.first_configuration();
  REQUIRE(first);
  CHECK(first->voters == std::vector{node_id{1}});
  f.joined(formation::cluster_id_of(*first));
  CHECK_FALSE(f.first_configuration());
}

TEST_CASE("three servers bootstrap with the same set, and only when each has named it") {
  auto a = of(1, 3), b = of(2, 3), c = of(3, 3);
  meet({&a, &b, &c});
  CHECK(ids_of(a.own().first) == numbers{1, 2, 3});
  CHECK_FALSE(a.first_configuration()); // b and c have not sent theirs
  identify(a, b);
  CHECK_FALSE(a.first_configuration());
  identify(a, c);
  REQUIRE(a.first_configuration());
  meet({&a, &b, &c});
  REQUIRE(b.first_configuration());
  CHECK(*a.first_configuration() == *b.first_configuration());
}

TEST_CASE("of four or five servers those with the lowest ids form the cluster, even when others had begun") {
  auto a = of(1, 3), b = of(2, 3), c = of(3, 3), d = of(4, 3);
  identify(b, c);
  identify(b, d);
  REQUIRE(promise_next(b));
  CHECK(ids_of(b.own().first) == numbers{2, 3, 4});
  for (int i = 0; i < 4; ++i)
    meet({&a, &b, &c, &d});
  for (auto* f : {&a, &b, &c}) {
    CHECK(ids_of(f->own().first) == numbers{1, 2, 3});
    CHECK(f->first_configuration());
  }
  CHECK_FALSE(d.first_configuration());

  // The fourth server existed before the cluster, so it is admitted without an operator.
  const auto first = *a.first_configuration();
  a.joined(formation::cluster_id_of(first));
  CHECK(a.admits(sent_by(server(4)), first));
  CHECK_FALSE(a.admits(sent_by(server(5)), first));
}

// 1 and 3 cannot communicate: each one's set lacks a server of the other's. A promise of one lets
// the others continue with the next round, as fast as they receive it, while the link is broken.
TEST_CASE("servers with different sets promise again after growing pauses") {
  auto a = of(1, 3), b = of(2, 3), c = of(3, 3), d = of(4, 3);
  const std::vector<std::pair<formation*, formation*>> links{{&a, &b}, {&a, &d}, {&b, &c}, {&b, &d}, {&c, &d}};
  int promises = 0;
  const auto speak = [&] {
    for (const auto& [one, other] : links) {
      identify(*one, *other);
      identify(*other, *one);
    }
    for (auto* f : {&a, &b, &c, &d})
      if (const auto p = f->next_promise()) {
        promises += p->set.empty() ? 0 : 1;
        f->promised(*p);
      }
  };
  for (int ticks = 0; ticks < 320; ++ticks) {
    for (auto* f : {&a, &b, &c, &d})
      f->tick(true);
    for (int i = 0; i < 10; ++i)
      speak();
  }
  // For each of four: 8 at once, then 6 growing pauses and 9 of 32 ticks.
  CHECK(promises >= 4);
  CHECK(promises <= 4 * 24);
}

TEST_CASE("a promise outlives the process: a server that returns and hears others does not form a second cluster") {
  auto a = of(1, 3), b = of(2, 3), c = of(3, 3);
  meet({&a, &b, &c});
  const auto bytes = encode(a.own().first);
  const auto kept = decode_promise(bytes);
  REQUIRE(kept);
  CHECK(*kept == a.own().first);
  meet({&a, &b, &c});
  REQUIRE(b.first_configuration()); // b has heard from a, which stops now

  auto again = of(1, 3, 0, *kept), d = of(4, 3), e = of(5, 3);
  for (int i = 0; i < 4; ++i)
    meet({&again, &d, &e});
  CHECK_FALSE(again.first_configuration());
  CHECK_FALSE(d.first_configuration());
  CHECK(ids_of(again.own().first) == numbers{1, 2, 3});

  // It hears from b, which has formed the cluster: so all had promised it.
  b.joined(formation::cluster_id_of(*b.first_configuration()));
  identify(again, b);
  CHECK(again.first_configuration());
}

TEST_CASE("a promise to a lost member is abandoned, and the servers that abandoned it never vote in its cluster") {
  auto a = of(1, 3), b = of(2, 3), c = of(3, 3);
  meet({&a, &b, &c});
  auto d = of(4, 3);
  a.lost(node_id{3});
  b.lost(node_id{3});
  const auto set = a.own().first;
  for (int i = 0; i < 9; ++i) {
    meet({&a, &b, &d});
    a.tick(true);
    b.tick(true);
  }
  CHECK(a.own().first == set); // not yet
  for (int i = 0; i < 6; ++i) {
    a.tick(true);
    b.tick(true);
    meet({&a, &b, &d});
  }
  CHECK(ids_of(a.own().first) == numbers{1, 2, 4});
  CHECK(a.first_configuration());
  CHECK(b.first_configuration());
  CHECK(d.first_configuration());

  // The third one had created the configuration: it requests votes in vain.
  auto made = of(3, 3, formation::cluster_id_of(configuration_of_voters(set.set)));
  identify(a, made);
  CHECK_FALSE(a.may_follow(node_id{3}, false));
  CHECK(a.may_follow(node_id{3}, true)); // if it leads, others have voted
  CHECK(a.first_configuration());        // and does not stop the others
}

TEST_CASE("a member of the set that returns after a long silence is not abandoned") {
  auto a = of(1, 3), b = of(2, 3), c = of(3, 3);
  for (auto* to : {&a, &b, &c})
    for (auto* from : {&a, &b, &c})
      if (to != from)
        identify(*to, *from);
  REQUIRE(promise_next(a));
  REQUIRE(promise_next(b)); // the promise of c is not on its disk yet
  a.lost(node_id{3});
  for (int i = 0; i < 30; ++i)
    a.tick(true);
  identify(a, b);
  CHECK_FALSE(a.next_promise()); // with two servers nothing is gained
  identify(a, c);
  CHECK_FALSE(a.next_promise());
  identify(c, a);
  identify(c, b);
  REQUIRE(promise_next(c));
  REQUIRE(c.first_configuration());
  c.joined(formation::cluster_id_of(*c.first_configuration()));
  identify(a, c);
  CHECK(a.first_configuration());
  CHECK(a.may_follow(node_id{3}, false));
}

TEST_CASE("an unreadable promise is distinguished from none") {
  CHECK(decode_promise(encode(promise{})) == promise{});
  auto bytes = encode(promise{3, {server(1), server(2)}, true, {7, 8}});
  CHECK(decode_promise(bytes) == promise{3, {server(1), server(2)}, true, {7, 8}});
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto bad = bytes;
    bad[i] = static_cast<char>(bad[i] ^ 4);
    CHECK_FALSE(decode_promise(bad));
    CHECK_FALSE(decode_promise(bytes.substr(0, i)));
  }
}

TEST_CASE("no server bootstraps beside an existing cluster, heard by itself or by another server") {
  auto a = of(11, 3), b = of(12, 3), c = of(13, 3), old = of(1, 3, 77);
  SECTION("before anything is promised") {
    identify(a, old);
    for (int i = 0; i < 4; ++i)
      meet({&a, &b, &c});
    for (auto* f : {&a, &b, &c})
      CHECK(f->own().first.set.empty());
  }
  SECTION("after the promise") {
    meet({&a, &b, &c});
    meet({&a, &b, &c});
    REQUIRE(a.first_configuration());
    identify(a, old);
    CHECK_FALSE(a.first_configuration());
  }
  SECTION("it has a log and does not know yet of which cluster") {
    auto restarted = of(2, 3);
    restarted.has_log();
    identify(a, restarted);
    meet({&a, &b, &c});
    CHECK(a.own().first.set.empty());
  }
  SECTION("a server of an earlier version reports less, which is enough") {
    handshake response;
    response.self = server(1);
    response.datacenter = "dc1";
    response.cluster_id = 77;
    response.expect = 3;
    response.promises = false;
    (void)a.met(response);
    meet({&a, &b, &c});
    CHECK(a.own().first.set.empty());
  }
}

TEST_CASE("a claim of an unverified server that a cluster was abandoned is ignored") {
  auto a = of(11, 3), b = of(12, 3), c = of(13, 3);
  const auto first = configuration_of_voters({server(1), server(2), server(3)});
  const auto cluster = formation::cluster_id_of(first);
  auto lives = sent_by(server(1));
  lives.cluster_id = cluster;
  lives.first.set = first.members;
  auto liar = of(9, 3).own();
  liar.first.refused = {cluster};
  for (auto* f : {&a, &b, &c}) {
    (void)f->met(lives);
    (void)f->met(liar);
  }
  for (int i = 0; i < 4; ++i)
    meet({&a, &b, &c});
  for (auto* f : {&a, &b, &c})
    CHECK(f->own().first.set.empty());

  // A member of that configuration knows this: it is one of those that promised it.
  liar.self = server(2);
  for (auto* f : {&a, &b, &c})
    (void)f->met(liar);
  for (int i = 0; i < 4; ++i)
    meet({&a, &b, &c});
  CHECK_FALSE(a.own().first.set.empty());
}

TEST_CASE("while a configured server is missing, a server waits to be discovered by others") {
  formation_settings s;
  s.expect = 1;
  s.timeout_ticks = 3;
  formation f(server(1), "dc1", s, 0);
  for (int i = 0; i < 2; ++i) {
    f.tick(false);
    CHECK_FALSE(f.next_promise());
  }
  identify(f, of(2, 3)); // a new server: perhaps more will come
  for (int i = 0; i < 2; ++i) {
    f.tick(false);
    CHECK_FALSE(f.next_promise());
  }
  f.tick(false);
  CHECK(f.next_promise());
}

TEST_CASE("a server without a cluster follows the first whose frames it accepts") {
  auto f = of(9, 0);
  identify(f, of(1, 3, 77));
  identify(f, of(2, 3, 78));
  CHECK(f.may_follow(node_id{1}, true));
  CHECK(f.may_follow(node_id{2}, true));
  f.bind(node_id{1});
  CHECK_FALSE(f.may_follow(node_id{2}, true));
  CHECK_FALSE(f.belongs(node_id{2}));
  CHECK(f.belongs(node_id{1}));
}

TEST_CASE("servers of another datacenter or cluster are distinguished") {
  auto a = of(1, 3, 77), foreign = of(3, 3, 78);
  formation other(server(2), "dc2", {}, 77);
  CHECK(a.met(other.own()));
  CHECK(a.met(foreign.own()));
  CHECK_FALSE(a.belongs(node_id{2}));
  CHECK_FALSE(a.belongs(node_id{3}));
}

TEST_CASE("a joining server with the name of a living member does not replace it; with that of a dead one it may") {
  auto leader = of(1, 3, 77);
  const auto config = configuration_of_voters({server(1), server(2), server(3)});
  auto twin = server(9);
  twin.name = "n2";
  identify(leader, of(2, 3, 77));
  identify(leader, of(3, 3, 77));
  REQUIRE(leader.rival_of(twin, config) != nullptr);
  CHECK(leader.rival_of(twin, config)->id == node_id{2});
  leader.lost(node_id{2});
  CHECK(leader.rival_of(twin, config) == nullptr);
  twin.name = "n1"; // the leader's own
  CHECK(leader.rival_of(twin, config) != nullptr);
  CHECK(leader.rival_of(server(2), config) == nullptr); // a server is never its own rival
}

TEST_CASE("a server without a cluster is bound to the first one that leads it") {
  const auto of_cluster = [](std::uint64_t id, std::uint64_t cluster) {
    return handshake{server(id), "dc1", cluster, 0, true, {}};
  };
  formation f(server(1), "dc1", {}, 0);
  (void)f.met(of_cluster(2, 77));
  (void)f.met(of_cluster(3, 88));
  (void)f.met(of_cluster(4, 0));
  (void)f.met(of_cluster(5, 77));
  CHECK_FALSE(f.may_follow(node_id{4}, true)); // a server without a cluster cannot lead
  CHECK(f.belongs(node_id{3}));
  REQUIRE(f.may_follow(node_id{2}, true));
  f.bind(node_id{2});
  CHECK(f.belongs(node_id{2}));
  CHECK_FALSE(f.belongs(node_id{3}));
  CHECK_FALSE(f.may_follow(node_id{3}, true));
  CHECK(f.may_follow(node_id{5}, true));       // the next leader of the same cluster
  CHECK_FALSE(f.may_follow(node_id{6}, true)); // has not sent a hello
  f.joined(77);
  CHECK(f.may_follow(node_id{2}, true));
  CHECK_FALSE(f.may_follow(node_id{3}, true));
}

TEST_CASE("after the formation only a replacement of a lost member, or a server chosen by an operator, is added") {
  auto leader = of(1, 3, 77);
  const auto config = configuration_of_voters({server(1), server(2), server(3)});
  const auto admits = [&](const member& m) { return leader.admits(sent_by(m), config); };
  CHECK_FALSE(admits(server(4)));
  auto back = server(9);
  back.name = "n2";
  CHECK_FALSE(admits(back)); // the name alone proves nothing
  back.address = server(2).address;
  CHECK(admits(back));
  back.uuid = server(3).uuid; // and it cannot replace two
  CHECK_FALSE(admits(back));
  CHECK(admits(server(3))); // a member
  leader.admit(server(4).address);
  CHECK(admits(server(4)));
  CHECK_FALSE(admits(server(5)));
  auto by_id = server(6);
  by_id.uuid = "b31a9000-0000-4000-8000-000000000001";
  CHECK_FALSE(admits(by_id));
  leader.admit(by_id.uuid);
  CHECK(admits(by_id));

  CHECK(leader.admits(sent_by(server(5), true), config)); // it is authenticated
  formation_settings s;
  s.admit_newcomers = true;
  CHECK(formation(server(1), "dc1", s, 77).admits(sent_by(server(5)), config));
}

TEST_CASE("a replacement of a lost member votes once that one does not, and never beside it") {
  cluster_with_one_lost t;
  t.c.add_node(9);
  const auto transfer_target = t.in_place_of(t.lost, 9);
  t.receives(transfer_target);
  t.run(t.settings.lost_ticks - 10);
  CHECK_FALSE(t.config().contains(node_id{9})); // the member may only be restarting
  CHECK(t.run(60) == 3);
  CHECK(t.votes(9));
  CHECK_FALSE(t.config().contains(node_id{t.lost}));
  CHECK(t.config().voters.size() == 3);
}

TEST_CASE("a member is known by its new name, unless another one has it") {
  cluster_with_one_lost t;
  auto renamed = testing::make_member(t.other);
  renamed.name = testing::make_member(t.lost).name;
  t.receives(renamed);
  CHECK_FALSE(t.next());
  renamed.name = "of-nobody";
  t.receives(renamed);
  const auto next = t.next();
  REQUIRE(next);
  CHECK(next->find(node_id{t.other})->name == "of-nobody");
}

TEST_CASE("an unverified server in the place of a lost member becomes no voter beside it by changing its hello") {
  // A server restarts. An unverified peer claims its name and address, becomes a learner, and then
  // sends other ones. With the bug, it became an additional voter as soon as it had the log.
  cluster_with_one_lost t;
  auto unverified = t.in_place_of(t.lost, 9);
  t.run(t.settings.lost_ticks);
  t.receives(unverified);
  t.run(1); // no server accepts the log yet
  REQUIRE(t.learns(9));
  t.c.add_node(9);
  SECTION("a name and an address of its own") {
    unverified = testing::make_member(9);
    t.receives(unverified);
    CHECK(t.run(60) == 3);
    CHECK_FALSE(t.config().contains(node_id{9}));
    CHECK(t.votes(t.lost));
  }
  SECTION("the member is back") {
    t.receives(testing::make_member(t.lost));
    t.c.restart(t.lost);
    CHECK(t.run(60) == 3);
    CHECK_FALSE(t.config().contains(node_id{9}));
  }
  SECTION("the member is back with another name and address") {
    auto moved = testing::make_member(t.lost);
    moved.name = "moved";
    moved.address = "127.0.0.1:9999";
    t.receives(moved);
    t.c.restart(t.lost);
    CHECK(t.run(60) == 3);
    CHECK_FALSE(t.config().contains(node_id{9}));
    CHECK(t.config().find(node_id{t.lost})->name == "moved");
  }
  SECTION("another one connects for the same position") {
    t.admission->lost(node_id{9});
    t.c.crash(9);
    t.c.add_node(10);
    t.receives(t.in_place_of(t.lost, 10));
    CHECK(t.run(2 * t.settings.lost_ticks) == 3);
    CHECK(t.votes(10));
    CHECK_FALSE(t.config().contains(node_id{9}));
  }
  SECTION("it has authenticated") {
    t.receives(testing::make_member(9), true);
    CHECK(t.run(60) >= 4);
    CHECK(t.votes(9));
  }
}

TEST_CASE("an operator's request is valid for one server") {
  cluster_with_one_lost t;
  t.c.add_node(9);
  const auto wanted = testing::make_member(9);
  t.admission->admit(wanted.address);
  t.receives(wanted);
  t.run(40);
  REQUIRE(t.votes(9));
  CHECK(t.config().voters.size() == 4);
  t.admission->lost(node_id{9});
  auto unverified = testing::make_member(10);
  unverified.address = wanted.address;
  t.receives(unverified);
  t.run(2 * t.settings.lost_ticks);
  CHECK_FALSE(t.config().contains(node_id{10}));
}
