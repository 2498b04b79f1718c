#include "client/core/connection_classes.hpp"

#include <catch2/catch.hpp>

#include <vector>

using namespace belay;
using detail::connection_class;
using detail::connection_classes;

namespace {

/// How many of them get a connection when none is returned.
std::size_t let_in(connection_classes& r, connection_class kind, std::size_t ask) {
  std::size_t n = 0;
  for (; n < ask && r.is_free(kind); ++n)
    r.begun(kind);
  return n;
}

} // namespace

TEST_CASE("requests declare whether they wait, and whether they are urgent", "[client]") {
  request get("GET", "/v1/kv/x");
  CHECK(detail::class_of(get) == connection_class::brief);
  CHECK(detail::class_of(get.query("waiting", "1")) == connection_class::brief);
  CHECK(detail::class_of(get.query("wait", "60000ms")) == connection_class::waiting);
  request renewal("PUT", "/v1/session/renew/1");
  CHECK(detail::class_of(renewal.urgent()) == connection_class::urgent);
}

// Short requests always have connections, and a renewal has one of its own.
TEST_CASE("an eighth of the connections is reserved for requests that do not wait, and one for renewals", "[client]") {
  struct row {
    std::size_t connections, waiting, brief_beside;
  };
  for (auto [connections, waiting, brief_beside] :
       {row{64, 56, 8}, row{8, 7, 1}, row{100, 92, 8}, row{20, 18, 2}, row{2, 1, 1}, row{1, 1, 0}}) {
    INFO(connections);
    connection_classes r(connections, 1000);
    CHECK(let_in(r, connection_class::waiting, 1000) == waiting);
    CHECK(let_in(r, connection_class::brief, 1000) == brief_beside);
    CHECK(let_in(r, connection_class::urgent, 1000) == 1);
    connection_classes all_brief(connections, 1000);
    CHECK(let_in(all_brief, connection_class::brief, 1000) == connections);
    CHECK(let_in(all_brief, connection_class::urgent, 1000) == 1);
    CHECK(all_brief.connections_max() == connections + 1);
  }
}

TEST_CASE("waiters for a connection get it in order, renewals first, and blocking requests only their own",
          "[client]") {
  connection_classes r(2, 1000);
  REQUIRE(let_in(r, connection_class::waiting, 9) == 1);
  REQUIRE(let_in(r, connection_class::brief, 9) == 1);
  REQUIRE(let_in(r, connection_class::urgent, 9) == 1);
  r.enqueue(connection_class::waiting, 1);
  r.enqueue(connection_class::brief, 2);
  r.enqueue(connection_class::brief, 3);
  r.enqueue(connection_class::urgent, 4);
  r.withdraw(connection_class::brief, 2);
  CHECK_FALSE(r.next());
  r.ended(connection_class::brief);
  CHECK(r.next() == 4);
  r.begun(connection_class::urgent);
  CHECK_FALSE(r.next());
  r.ended(connection_class::urgent);
  CHECK(r.next() == 3);
  r.begun(connection_class::brief);
  CHECK(r.somebody_queues());
  r.ended(connection_class::waiting);
  CHECK(r.next() == 1);
  CHECK_FALSE(r.somebody_queues());
}

TEST_CASE("requests are bounded, those that wait by an eighth less, renewals not", "[client]") {
  connection_classes r(4, 16);
  auto take = [&](connection_class kind) {
    std::size_t n = 0;
    for (; n < 100 && r.takes(kind); ++n)
      r.arrived(kind);
    return n;
  };
  CHECK(take(connection_class::waiting) == 14);
  CHECK(take(connection_class::brief) == 2);
  CHECK(take(connection_class::urgent) == 100);
  r.gone(connection_class::waiting);
  CHECK_FALSE(r.takes(connection_class::waiting));
}
