// Two kinds of clients with the same connection numbers would get each other's responses. Archives
// and followers once had the same numbers. Then no archive was saved or restored, and no test
// noticed.

#include "sim/environment/connection_numbers.hpp"

#include <catch2/catch.hpp>

namespace belay::sim {
namespace {

TEST_CASE("connection numbers: each belongs to the side that counted it") {
  CHECK(owner_of(1) == connections_of::clients);
  CHECK(owner_of(counted_from(connections_of::change_followers) - 1) == connections_of::clients);
  constexpr connections_of all[] = {connections_of::change_followers,  connections_of::archive_transfers,
                                    connections_of::clients_of_agents, connections_of::operators,
                                    connections_of::cached_readers,    connections_of::client_agents};
  for (const auto who : all) {
    INFO(static_cast<int>(who));
    CHECK(owner_of(counted_from(who)) == who);
    CHECK(owner_of(counted_from(who) + 1) == who);
    CHECK(owner_of(2 * counted_from(who) - 1) == who);
  }
}

} // namespace
} // namespace belay::sim
