// How servers become one cluster, and never two.

#include "protocol/raft/formation.hpp"

#include <catch2/catch.hpp>

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

} // namespace

TEST_CASE("a lone server that expects one bootstraps itself") {
  formation f(server(1), "dc1", 1, 0);
  auto first = f.first_configuration();
  REQUIRE(first);
  CHECK(first->voters == std::vector{node_id{1}});
  f.joined(formation::cluster_id_of(*first));
  CHECK_FALSE(f.first_configuration());
}

TEST_CASE("three servers bootstrap with the same set, and only when each has named it") {
  formation a(server(1), "dc1", 3, 0), b(server(2), "dc1", 3, 0), c(server(3), "dc1", 3, 0);
  introduce(a, b);
  introduce(a, c);
  CHECK(a.own().agreed.size() == 3);
  CHECK_FALSE(a.first_configuration()); // b and c have not named theirs
  introduce(b, a);
  introduce(b, c);
  introduce(c, a);
  introduce(c, b);
  introduce(a, b);
  CHECK_FALSE(a.first_configuration());
  introduce(a, c);
  REQUIRE(a.first_configuration());
  introduce(b, c);
  introduce(b, a);
  REQUIRE(b.first_configuration());
  CHECK(*a.first_configuration() == *b.first_configuration());
}

TEST_CASE("a fourth server that expects three cannot make a second cluster out of two of the first") {
  formation a(server(1), "dc1", 3, 0), b(server(2), "dc1", 3, 0), c(server(3), "dc1", 3, 0), d(server(4), "dc1", 3, 0);
  for (auto* x : {&a, &b, &c})
    for (auto* y : {&a, &b, &c})
      introduce(*x, *y);
  introduce(d, b);
  introduce(d, c);
  introduce(b, d);
  introduce(c, d);
  introduce(d, b);
  introduce(d, c);
  CHECK_FALSE(d.first_configuration());
}

TEST_CASE("a wiped server does not bootstrap beside the cluster that is there") {
  formation wiped(server(9), "dc1", 3, 0), b(server(2), "dc1", 3, 77), c(server(3), "dc1", 3, 77);
  introduce(wiped, b);
  introduce(wiped, c);
  CHECK(wiped.own().agreed.empty());
  CHECK_FALSE(wiped.first_configuration());
  CHECK(wiped.belongs(node_id{2}));
}

TEST_CASE("servers of another datacenter or cluster are told apart") {
  formation a(server(1), "dc1", 3, 77), other(server(2), "dc2", 3, 77), foreign(server(3), "dc1", 3, 78);
  CHECK(a.met(other.own()));
  CHECK(a.met(foreign.own()));
  CHECK_FALSE(a.belongs(node_id{2}));
  CHECK_FALSE(a.belongs(node_id{3}));
}

TEST_CASE("a newcomer with the name of a living member does not take its place; with that of a dead one it may") {
  formation leader(server(1), "dc1", 3, 77);
  const auto config = configuration_of_voters({server(1), server(2), server(3)});
  auto twin = server(9);
  twin.name = "n2";
  introduce(leader, formation(server(2), "dc1", 3, 77));
  introduce(leader, formation(server(3), "dc1", 3, 77));
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
    return introduction{server(id), "dc1", cluster, 0, {}};
  };
  formation f(server(1), "dc1", 0, 0);
  (void)f.met(of_cluster(2, 77));
  (void)f.met(of_cluster(3, 88));
  (void)f.met(of_cluster(4, 0));
  (void)f.met(of_cluster(5, 77));
  CHECK_FALSE(f.may_be_led_by(node_id{4})); // nobody leads who is in no cluster
  CHECK(f.belongs(node_id{2}));
  CHECK(f.belongs(node_id{3}));
  REQUIRE(f.may_be_led_by(node_id{2}));
  CHECK(f.belongs(node_id{2}));
  CHECK_FALSE(f.belongs(node_id{3}));
  CHECK_FALSE(f.may_be_led_by(node_id{3}));
  CHECK_FALSE(f.may_be_led_by(node_id{4}));
  CHECK(f.may_be_led_by(node_id{5}));       // the next leader of the same cluster
  CHECK_FALSE(f.may_be_led_by(node_id{6})); // has not introduced itself
  f.joined(77);
  CHECK(f.may_be_led_by(node_id{2}));
  CHECK_FALSE(f.may_be_led_by(node_id{3}));
}
