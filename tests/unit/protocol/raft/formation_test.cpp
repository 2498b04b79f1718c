// How servers become one cluster, and never two.

#include "protocol/raft/formation.hpp"

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

void introduce(formation& to, const formation& from) {
  (void)to.met(from.own());
}

/// All there is to look for is found.
formation of(std::uint64_t id, std::uint32_t expect, std::uint64_t cluster = 0, promise kept = {}) {
  formation_settings s;
  s.expect = expect;
  s.patience_ticks = 4;
  s.give_up_ticks = 10;
  formation f(server(id), "dc1", s, cluster, std::move(kept));
  f.tick(true);
  return f;
}

/// Promises what there is to promise now. @returns whether there was anything
bool promise_next(formation& f) {
  auto p = f.next_promise();
  if (p)
    f.promised(*p);
  return p.has_value();
}

/// Everybody hears everybody, and promises.
void meet(std::vector<formation*> all) {
  for (auto* to : all)
    for (auto* from : all)
      if (to != from)
        introduce(*to, *from);
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
  CHECK_FALSE(a.first_configuration()); // b and c have not told theirs
  introduce(a, b);
  CHECK_FALSE(a.first_configuration());
  introduce(a, c);
  REQUIRE(a.first_configuration());
  meet({&a, &b, &c});
  REQUIRE(b.first_configuration());
  CHECK(*a.first_configuration() == *b.first_configuration());
}

TEST_CASE("of four or five servers those with the lowest ids make the cluster, also when others had begun") {
  auto a = of(1, 3), b = of(2, 3), c = of(3, 3), d = of(4, 3);
  introduce(b, c);
  introduce(b, d);
  REQUIRE(promise_next(b));
  CHECK(ids_of(b.own().first) == numbers{2, 3, 4});
  for (int i = 0; i < 4; ++i)
    meet({&a, &b, &c, &d});
  for (auto* f : {&a, &b, &c}) {
    CHECK(ids_of(f->own().first) == numbers{1, 2, 3});
    CHECK(f->first_configuration());
  }
  CHECK_FALSE(d.first_configuration());

  // The fourth one was there before the cluster was: it needs no operator.
  const auto first = *a.first_configuration();
  a.joined(formation::cluster_id_of(first));
  CHECK(a.admits(server(4), first));
  CHECK_FALSE(a.admits(server(5), first));
}

// 1 and 3 do not hear each other: each set lacks somebody for somebody. What one server promises lets the others go on to
// the next round, and they would do so as fast as they hear it, for as long as the link is broken.
TEST_CASE("servers that want different sets promise anew after pauses that grow") {
  auto a = of(1, 3), b = of(2, 3), c = of(3, 3), d = of(4, 3);
  const std::vector<std::pair<formation*, formation*>> links{{&a, &b}, {&a, &d}, {&b, &c}, {&b, &d}, {&c, &d}};
  int promises = 0;
  const auto speak = [&] {
    for (const auto& [one, other] : links) {
      introduce(*one, *other);
      introduce(*other, *one);
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

TEST_CASE("a promise outlives the process: who comes back and hears others does not make a second cluster") {
  auto a = of(1, 3), b = of(2, 3), c = of(3, 3);
  meet({&a, &b, &c});
  const auto bytes = encode(a.own().first);
  const auto kept = decode_promise(bytes);
  REQUIRE(kept);
  CHECK(*kept == a.own().first);
  meet({&a, &b, &c});
  REQUIRE(b.first_configuration()); // b has heard a, which goes now

  auto again = of(1, 3, 0, *kept), d = of(4, 3), e = of(5, 3);
  for (int i = 0; i < 4; ++i)
    meet({&again, &d, &e});
  CHECK_FALSE(again.first_configuration());
  CHECK_FALSE(d.first_configuration());
  CHECK(ids_of(again.own().first) == numbers{1, 2, 3});

  // It hears b, which has made the cluster: so all had promised it.
  b.joined(formation::cluster_id_of(*b.first_configuration()));
  introduce(again, b);
  CHECK(again.first_configuration());
}

TEST_CASE("a promise whose member is gone is given up, and those who gave it up never vote in its cluster") {
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

  // The third one had made the configuration: it asks for votes in vain.
  auto made = of(3, 3, formation::cluster_id_of(configuration_of_voters(set.set)));
  introduce(a, made);
  CHECK_FALSE(a.may_follow(node_id{3}, false));
  CHECK(a.may_follow(node_id{3}, true)); // if it leads, others have voted
  CHECK(a.first_configuration());        // and does not stop the others
}

TEST_CASE("an unreadable promise is told from none") {
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

TEST_CASE("nobody bootstraps beside a cluster that is there, heard by himself or by another") {
  auto a = of(11, 3), b = of(12, 3), c = of(13, 3), old = of(1, 3, 77);
  SECTION("before anything is promised") {
    introduce(a, old);
    for (int i = 0; i < 4; ++i)
      meet({&a, &b, &c});
    for (auto* f : {&a, &b, &c})
      CHECK(f->own().first.set.empty());
  }
  SECTION("after the promise") {
    meet({&a, &b, &c});
    meet({&a, &b, &c});
    REQUIRE(a.first_configuration());
    introduce(a, old);
    CHECK_FALSE(a.first_configuration());
  }
  SECTION("it has a log and does not know yet of which cluster") {
    auto restarted = of(2, 3);
    restarted.has_log();
    introduce(a, restarted);
    meet({&a, &b, &c});
    CHECK(a.own().first.set.empty());
  }
  SECTION("a server of an earlier version says less, and is enough") {
    introduction said;
    said.self = server(1);
    said.datacenter = "dc1";
    said.cluster_id = 77;
    said.expect = 3;
    said.promises = false;
    (void)a.met(said);
    meet({&a, &b, &c});
    CHECK(a.own().first.set.empty());
  }
}

TEST_CASE("as long as somebody is missing who was named, a server waits for others to be met") {
  formation_settings s;
  s.expect = 1;
  s.patience_ticks = 3;
  formation f(server(1), "dc1", s, 0);
  for (int i = 0; i < 2; ++i) {
    f.tick(false);
    CHECK_FALSE(f.next_promise());
  }
  introduce(f, of(2, 3)); // somebody new: perhaps more will come
  for (int i = 0; i < 2; ++i) {
    f.tick(false);
    CHECK_FALSE(f.next_promise());
  }
  f.tick(false);
  CHECK(f.next_promise());
}

TEST_CASE("who is in no cluster follows the first whose frames it takes") {
  auto f = of(9, 0);
  introduce(f, of(1, 3, 77));
  introduce(f, of(2, 3, 78));
  CHECK(f.may_follow(node_id{1}, true));
  CHECK(f.may_follow(node_id{2}, true));
  f.bind(node_id{1});
  CHECK_FALSE(f.may_follow(node_id{2}, true));
  CHECK_FALSE(f.belongs(node_id{2}));
  CHECK(f.belongs(node_id{1}));
}

TEST_CASE("servers of another datacenter or cluster are told apart") {
  auto a = of(1, 3, 77), foreign = of(3, 3, 78);
  formation other(server(2), "dc2", {}, 77);
  CHECK(a.met(other.own()));
  CHECK(a.met(foreign.own()));
  CHECK_FALSE(a.belongs(node_id{2}));
  CHECK_FALSE(a.belongs(node_id{3}));
}

TEST_CASE("a newcomer with the name of a living member does not take its place; with that of a dead one it may") {
  auto leader = of(1, 3, 77);
  const auto config = configuration_of_voters({server(1), server(2), server(3)});
  auto twin = server(9);
  twin.name = "n2";
  introduce(leader, of(2, 3, 77));
  introduce(leader, of(3, 3, 77));
  REQUIRE(leader.rival_of(twin, config) != nullptr);
  CHECK(leader.rival_of(twin, config)->id == node_id{2});
  leader.lost(node_id{2});
  CHECK(leader.rival_of(twin, config) == nullptr);
  twin.name = "n1"; // the leader's own
  CHECK(leader.rival_of(twin, config) != nullptr);
  CHECK(leader.rival_of(server(2), config) == nullptr); // nobody is his own rival
}

TEST_CASE("a server that is in no cluster is bound to the first one that leads it") {
  const auto of_cluster = [](std::uint64_t id, std::uint64_t cluster) {
    return introduction{server(id), "dc1", cluster, 0, true, {}};
  };
  formation f(server(1), "dc1", {}, 0);
  (void)f.met(of_cluster(2, 77));
  (void)f.met(of_cluster(3, 88));
  (void)f.met(of_cluster(4, 0));
  (void)f.met(of_cluster(5, 77));
  CHECK_FALSE(f.may_follow(node_id{4}, true)); // nobody leads who is in no cluster
  CHECK(f.belongs(node_id{3}));
  REQUIRE(f.may_follow(node_id{2}, true));
  f.bind(node_id{2});
  CHECK(f.belongs(node_id{2}));
  CHECK_FALSE(f.belongs(node_id{3}));
  CHECK_FALSE(f.may_follow(node_id{3}, true));
  CHECK(f.may_follow(node_id{5}, true));       // the next leader of the same cluster
  CHECK_FALSE(f.may_follow(node_id{6}, true)); // has not introduced itself
  f.joined(77);
  CHECK(f.may_follow(node_id{2}, true));
  CHECK_FALSE(f.may_follow(node_id{3}, true));
}

TEST_CASE("after the formation only who replaces a lost member, or whom an operator wants, is taken in") {
  auto leader = of(1, 3, 77);
  const auto config = configuration_of_voters({server(1), server(2), server(3)});
  CHECK_FALSE(leader.admits(server(4), config));
  auto back = server(9);
  back.name = "n2";
  CHECK_FALSE(leader.admits(back, config)); // the name alone proves nothing
  back.address = server(2).address;
  CHECK(leader.admits(back, config));
  CHECK(leader.admits(server(3), config)); // a member
  leader.admit(server(4).address);
  CHECK(leader.admits(server(4), config));
  CHECK_FALSE(leader.admits(server(5), config));
  auto by_id = server(6);
  by_id.uuid = "b31a9000-0000-4000-8000-000000000001";
  CHECK_FALSE(leader.admits(by_id, config));
  leader.admit(by_id.uuid);
  CHECK(leader.admits(by_id, config));

  formation_settings s;
  s.admit_newcomers = true;
  CHECK(formation(server(1), "dc1", s, 77).admits(server(5), config));
}
