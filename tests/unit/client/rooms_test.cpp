#include "client/core/rooms.hpp"

#include <catch2/catch.hpp>

#include <vector>

using namespace belay;
using detail::room;
using detail::rooms;

namespace {

/// How many of them get a connection when none is returned.
std::size_t let_in(rooms& r, room kind, std::size_t ask) {
  std::size_t n = 0;
  for (; n < ask && r.is_free(kind); ++n)
    r.begun(kind);
  return n;
}

} // namespace

TEST_CASE("requests declare whether they wait, and whether they are urgent", "[client]") {
  request get("GET", "/v1/kv/x");
  CHECK(detail::room_of(get) == room::brief);
  CHECK(detail::room_of(get.query("waiting", "1")) == room::brief);
  CHECK(detail::room_of(get.query("wait", "60000ms")) == room::waiting);
  request renewal("PUT", "/v1/session/renew/1");
  CHECK(detail::room_of(renewal.urgent()) == room::urgent);
}

// Short requests always have connections, and a renewal has one of its own.
TEST_CASE("an eighth of the connections is kept from those that wait, and one is for renewals alone", "[client]") {
  struct row {
    std::size_t connections, waiting, brief_beside;
  };
  for (auto [connections, waiting, brief_beside] :
       {row{64, 56, 8}, row{8, 7, 1}, row{100, 92, 8}, row{20, 18, 2}, row{2, 1, 1}, row{1, 1, 0}}) {
    INFO(connections);
    rooms r(connections, 1000);
    CHECK(let_in(r, room::waiting, 1000) == waiting);
    CHECK(let_in(r, room::brief, 1000) == brief_beside);
    CHECK(let_in(r, room::urgent, 1000) == 1);
    rooms all_brief(connections, 1000);
    CHECK(let_in(all_brief, room::brief, 1000) == connections);
    CHECK(let_in(all_brief, room::urgent, 1000) == 1);
    CHECK(all_brief.connections_max() == connections + 1);
  }
}

TEST_CASE("waiters for a connection get it in order, renewals first, and blocking requests only their own",
          "[client]") {
  rooms r(2, 1000);
  REQUIRE(let_in(r, room::waiting, 9) == 1);
  REQUIRE(let_in(r, room::brief, 9) == 1);
  REQUIRE(let_in(r, room::urgent, 9) == 1);
  r.enqueue(room::waiting, 1);
  r.enqueue(room::brief, 2);
  r.enqueue(room::brief, 3);
  r.enqueue(room::urgent, 4);
  r.withdraw(room::brief, 2);
  CHECK_FALSE(r.next());
  r.ended(room::brief);
  CHECK(r.next() == 4);
  r.begun(room::urgent);
  CHECK_FALSE(r.next());
  r.ended(room::urgent);
  CHECK(r.next() == 3);
  r.begun(room::brief);
  CHECK(r.somebody_queues());
  r.ended(room::waiting);
  CHECK(r.next() == 1);
  CHECK_FALSE(r.somebody_queues());
}

TEST_CASE("requests are bounded, those that wait by an eighth less, renewals not", "[client]") {
  rooms r(4, 16);
  auto take = [&](room kind) {
    std::size_t n = 0;
    for (; n < 100 && r.takes(kind); ++n)
      r.came(kind);
    return n;
  };
  CHECK(take(room::waiting) == 14);
  CHECK(take(room::brief) == 2);
  CHECK(take(room::urgent) == 100);
  r.gone(room::waiting);
  CHECK_FALSE(r.takes(room::waiting));
}
