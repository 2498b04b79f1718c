// Limits of connections: in total, and for each address.

#include "actors/gateway/client_admission.hpp"

#include <catch2/catch.hpp>

using belay::actors::client_admission;

// A client that leaks connections must not keep all others out.
TEST_CASE("client_admission: connections are limited for each address, and for all together") {
  client_admission a(4, 2);
  const auto* first = a.admit("10.0.0.1");
  REQUIRE(first != nullptr);
  CHECK(*first == "10.0.0.1");
  CHECK(a.admit("10.0.0.1") == first);
  CHECK(a.admit("10.0.0.1") == nullptr);
  CHECK(a.admit("10.0.0.2") != nullptr);
  CHECK(a.admit("10.0.0.3") != nullptr);
  CHECK(a.admit("10.0.0.4") == nullptr); // four in total
  a.leave("10.0.0.1");
  CHECK(a.admit("10.0.0.4") != nullptr);
  a.leave("10.0.0.4");
  CHECK(a.admit("10.0.0.1") == first); // it still had one, so its entry did not move
}

TEST_CASE("client_admission: clients of a Unix socket and those without a limit count only in all") {
  client_admission local(3, 1);
  CHECK(local.admit("") != nullptr);
  CHECK(local.admit("") != nullptr);
  CHECK(local.admit("10.0.0.1") != nullptr);
  CHECK(local.admit("") == nullptr);
  local.leave("");
  CHECK(local.admit("10.0.0.1") == nullptr);
  CHECK(local.admit("") != nullptr);

  client_admission unlimited(3, 0);
  for (int i = 0; i < 3; ++i)
    CHECK(unlimited.admit("10.0.0.1") != nullptr);
  CHECK(unlimited.admit("10.0.0.1") == nullptr);
}

TEST_CASE("client_admission: rejected clients do not count") {
  client_admission a(10, 1);
  const auto* first = a.admit("10.0.0.1");
  CHECK(a.admit("10.0.0.1") == nullptr);
  a.leave(*first);
  CHECK(a.admit("10.0.0.1") != nullptr);
}
