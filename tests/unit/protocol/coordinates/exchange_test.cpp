// How servers exchange coordinates: everything to a new server, later only what others cannot know,
// never more than the bound, and nothing invalid.

#include "protocol/coordinates/exchange.hpp"

#include <catch2/catch.hpp>

#include <limits>

using namespace belay;
using namespace belay::coordinates;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t today = 1'790'000'000'000; // ms since 1970

coordinate coordinate_at(double x) {
  coordinate c;
  c.vec[0] = x;
  return c;
}

/// Two or more that receive each other's messages at once; a round trip takes 2 ms.
struct servers {
  std::vector<exchange> all;
  std::vector<std::set<node_id>> peers;
  local_time now{1s};
  std::size_t rows_sent = 0;

  explicit servers(std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      all.emplace_back("s" + std::to_string(i), i + 1);
      auto& of = peers.emplace_back();
      for (std::size_t j = 0; j < n; ++j)
        if (j != i)
          of.insert(node_id{j + 1});
    }
  }

  std::uint64_t wall() const { return today + static_cast<std::uint64_t>(now / 1ms); }

  void second() {
    now += 1s;
    for (std::size_t i = 0; i < all.size(); ++i)
      for (auto& [to, m] : all[i].tick(peers[i], now, wall())) {
        auto& other = all[to.value - 1];
        if (const auto* p = std::get_if<probe>(&m)) {
          all[i].answered(to, other.requested(*p), now + 2ms);
        } else if (const auto* n = std::get_if<news>(&m)) {
          rows_sent += n->rows.size();
          CHECK(n->rows.size() <= news_rows_max);
          other.received(*n, wall());
        }
      }
  }
  void seconds(int n) {
    while (n-- > 0)
      second();
  }
  row_ptr known(std::size_t to, const std::string& node) { return all[to].known().find(table::key_of(node, {})); }
};

} // namespace

TEST_CASE("each server learns the coordinates of all, and the distances between them") {
  servers s(3);
  s.seconds(60);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(s.all[i].known().size() == 3);
    const distances from(&s.all[i].known(), "s0");
    for (const auto* to : {"s1", "S2"}) {
      const auto d = from.to(to);
      REQUIRE(d);
      CHECK(*d > 1ms);
      CHECK(*d < 3ms);
    }
  }
}

TEST_CASE("a lone node reports that it is at the origin, after a while") {
  servers s(1);
  s.seconds(10);
  CHECK(s.all[0].known().size() == 0);
  s.seconds(10);
  REQUIRE(s.known(0, "s0"));
  CHECK(s.known(0, "s0")->at == coordinate{});
  const auto stamp = s.all[0].known().newest();
  s.seconds(100);
  CHECK(s.all[0].known().newest() == stamp); // nothing new, and no query is woken
}

TEST_CASE("a coordinate that a client reports to one server reaches all a second later, and the newer one counts") {
  servers s(3);
  s.seconds(2);
  CHECK(s.all[0].put("far", "", coordinate_at(1), s.wall()));
  s.second();
  REQUIRE(s.known(2, "far"));
  CHECK(s.all[2].put("FAR", "", coordinate_at(2), 5)); // its clock is decades behind
  s.second();
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(s.known(i, "far")->at == coordinate_at(2));
    CHECK(s.known(i, "far")->node == "FAR");
  }
  s.all[1].received({{{"far", "", coordinate_at(3), 1}}}, s.wall()); // older than the known one
  CHECK(s.known(1, "far")->at == coordinate_at(2));
}

TEST_CASE("rows are sent by the server that received them, and all of them to a reconnected one") {
  servers s(3);
  s.seconds(2);
  for (int i = 0; i < 1000; ++i)
    REQUIRE(s.all[0].put("n" + std::to_string(i), "", coordinate_at(i), s.wall()));
  s.rows_sent = 0;
  s.seconds(4);
  CHECK(s.all[1].known().size() >= 1000);
  CHECK(s.all[2].known().size() >= 1000);
  CHECK(s.rows_sent < 2020); // once to each of the two others, and some of the servers' own
  s.peers[2].clear();
  s.peers[0].erase(node_id{3});
  s.peers[1].erase(node_id{3});
  s.all[0].put("later", "", coordinate_at(7), s.wall());
  s.seconds(3);
  CHECK_FALSE(s.known(2, "later"));
  s.peers[1].insert(node_id{3}); // only a server that the client did not use can reach it
  s.seconds(4);
  CHECK(s.known(2, "later"));
}

TEST_CASE("the number of rows is limited: the oldest is dropped") {
  exchange e("s0", 1);
  for (std::size_t i = 0; i < rows_max + 10; ++i)
    REQUIRE(e.put("n" + std::to_string(i), "", coordinate_at(1), today));
  CHECK(e.known().size() == rows_max);
  CHECK_FALSE(e.known().find(table::key_of("n9", {})));
  CHECK(e.known().find(table::key_of("n10", {})));
  for (int i = 0; i < 100; ++i) // repeats of one coordinate are one row
    e.put("n10", "", coordinate_at(i), today);
  CHECK(e.known().size() == rows_max);
  CHECK(e.known().find(table::key_of("n11", {})));
}

TEST_CASE("invalid rows are not accepted") {
  exchange e("s0", 1);
  auto bad = coordinate_at(std::numeric_limits<double>::infinity());
  CHECK_FALSE(e.put("n", "", bad, today));
  CHECK_FALSE(e.put("", "", coordinate_at(1), today));
  CHECK_FALSE(e.put(std::string(name_bytes_max + 1, 'n'), "", coordinate_at(1), today));
  CHECK_FALSE(e.put("n", std::string(segment_bytes_max + 1, 's'), coordinate_at(1), today));
  e.received({{{"n", "", bad, today}, {"far", "", coordinate_at(1), UINT64_MAX}, {"s0", "", coordinate_at(1), today}}},
             today);
  CHECK(e.known().size() == 0); // not even of this server itself, which knows better
  CHECK(e.known().newest() == 0);
  CHECK(e.put("n", "", coordinate_at(1), today));
}

TEST_CASE("only the answer to the last question is a measurement") {
  exchange e("s0", 1);
  const node_id peer{2}, other_peer{3};
  const auto sent = e.tick({peer}, 5s, today);
  REQUIRE(sent.size() == 1);
  const auto& p = std::get<probe>(sent[0].second);
  const auto before = e.own();
  CHECK_FALSE(e.answered(other_peer, {p.sent_ns, coordinate_at(1)}, 5s + 2ms));
  CHECK_FALSE(e.answered(peer, {p.sent_ns - 1, coordinate_at(1)}, 5s + 2ms));
  CHECK(e.own() == before);
  CHECK(e.answered(peer, {p.sent_ns, coordinate_at(1)}, 5s + 2ms));
  CHECK_FALSE(e.answered(peer, {p.sent_ns, coordinate_at(1)}, 5s + 3ms));
  CHECK_FALSE(e.own() == before);
}

TEST_CASE("coordinates are forwarded once a second at most, and only if they have changed") {
  exchange e("s0", 1);
  CHECK(e.take_changed(1s) == nullptr);
  e.put("a", "", coordinate_at(1), today);
  const auto first = e.take_changed(1s);
  REQUIRE(first);
  e.put("b", "", coordinate_at(1), today);
  CHECK(e.take_changed(1500ms) == nullptr);
  CHECK(first->size() == 1); // what was returned does not change
  const auto second = e.take_changed(2s);
  REQUIRE(second);
  CHECK(second->size() == 2);
  CHECK(second->newest() > first->newest());
  CHECK(e.take_changed(9s) == nullptr);
}

// lib/rtt.go of Consul, Intersect().
TEST_CASE("distances are between coordinates of the same segment") {
  exchange e("s0", 1);
  e.put("server", "", coordinate_at(0), today);
  e.put("server", "alpha", coordinate_at(10), today);
  e.put("client", "alpha", coordinate_at(11), today);
  e.put("other", "beta", coordinate_at(11), today);
  const distances from_client(&e.known(), "client");
  CHECK(from_client.to("server").value() < 1100ms);
  CHECK_FALSE(from_client.to("other"));
  CHECK_FALSE(from_client.to("nobody"));
  CHECK_FALSE(distances(&e.known(), "nobody").known());
  CHECK_FALSE(distances(nullptr, "client").known());
}
