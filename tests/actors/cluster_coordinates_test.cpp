// Coordinates of nodes in the network (docs/internals/adr/0015-coordinates.md), with the real
// actors of three nodes. They measure round trips, exchange the coordinates that clients have set,
// and serve them.

#include "tests/actors/cluster_fixture.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using http::consistency;

namespace {

cluster_options measuring() {
  cluster_options o;
  o.peer.coordinates = true;
  return o;
}

std::vector<std::string> coordinates_at(cluster_fixture& c, std::size_t node) {
  const auto r = c.found(c.read(node, state::coordinate_nodes{}, consistency::stale));
  std::vector<std::string> out;
  if (const auto* found = r.found())
    for (const auto& row : std::get<state::coordinate_rows>(found->data).list)
      out.push_back(row->node);
  return out;
}

coordinates::row row_of(const std::string& node, double x) {
  coordinates::row r{node, {}, {}, 0};
  r.at.vec[0] = x;
  return r;
}

void add_node(cluster_fixture& c, const std::string& name) {
  state::catalog_register r;
  r.node.node = name;
  r.node.address = "10.9.9.9";
  REQUIRE(c.written(c.write(0, r)).outcome == wire::call_outcome::done);
}

} // namespace

TEST_CASE("three servers know the coordinates of each other, and those a client reported to one of them",
          "[actors][coordinates]") {
  cluster_fixture c(measuring());
  c.leader();
  for (std::size_t i = 0; i < 3; ++i)
    REQUIRE(c.until([&] { return coordinates_at(c, i).size() == 3; }));

  add_node(c, "far");
  add_node(c, "near");
  c.put_coordinate(1, row_of("far", 5));
  c.put_coordinate(2, row_of("near", 1));
  for (std::size_t i = 0; i < 3; ++i) {
    REQUIRE(c.until([&] { return coordinates_at(c, i).size() == 5; }));
    state::query q = state::catalog_nodes{};
    q.near = "far";
    const auto r = c.found(c.read(i, q, consistency::stale));
    const auto& list = std::get<state::nodes>(r.found()->data).list;
    REQUIRE(list.size() == 5);
    CHECK(list[0]->node == "far");
    CHECK(list[1]->node == "near");
  }

  // Each server sends its own coordinate periodically; a new one gets the rest from the others.
  c.crash(0);
  c.start(0);
  REQUIRE(c.until([&] { return coordinates_at(c, 0).size() == 5; }));
}

TEST_CASE("a query that waits for coordinates is woken when they change", "[actors][coordinates]") {
  cluster_fixture c(measuring());
  c.leader();
  REQUIRE(c.until([&] { return coordinates_at(c, 1).size() == 3; }));
  c.pass(seconds(40)); // coordinates stay: round trips take no time here
  const auto index = index_of(c.found(c.read(1, state::coordinate_nodes{}, consistency::stale)));
  const auto waiting = c.read(1, state::coordinate_nodes{}, consistency::stale, index, seconds(300));
  c.settle();
  add_node(c, "far");
  c.put_coordinate(2, row_of("far", 5));
  REQUIRE(c.until([&] { return c.answered(waiting); }));
  CHECK(index_of(c.found(waiting)) > index);
}

// A server of the previous version would close the connection at a frame that it cannot read.
TEST_CASE("nothing is sent to servers that have not announced that they support it", "[actors][coordinates]") {
  cluster_fixture c; // none of them measures
  c.leader();
  c.put_coordinate(0, row_of("node", 5));
  c.pass(seconds(30));
  for (std::size_t to = 0; to < 3; ++to) {
    CHECK(c.net().sent<wire::coordinate_probe>(to).empty());
    CHECK(c.net().sent<wire::coordinate_news>(to).empty());
  }
  // A frame that arrives all the same is ignored.
  coordinates::row r = row_of("far", 1);
  r.stamp = 1;
  c.net().inject(0, 1, wire::coordinate_news{{r}});
  c.net().inject(0, 1, wire::coordinate_probe{5});
  c.pass(seconds(5));
  CHECK(c.net().sent<wire::coordinate_answer>(0).empty());
  CHECK(coordinates_at(c, 1).empty());
}
