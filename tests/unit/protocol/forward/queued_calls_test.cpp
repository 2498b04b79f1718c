// The queue of calls that wait for a leader: in order, and bounded in count and bytes.

#include "protocol/forward/queued_calls.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::forward;

namespace {

queued_call call_of(std::uint64_t id, std::size_t bytes) {
  return {{node_id{1}, request_id{id}}, call_kind::propose, make_payload(std::string(bytes, 'x')), local_time{0}};
}

} // namespace

TEST_CASE("queued calls return in the order of their arrival") {
  queued_calls held;
  for (std::uint64_t id : {3, 1, 2})
    REQUIRE(held.add(call_of(id, 1)));
  const auto taken = held.take_all();
  REQUIRE(taken.size() == 3);
  CHECK(taken[0].from.id == request_id{3});
  CHECK(taken[1].from.id == request_id{1});
  CHECK(taken[2].from.id == request_id{2});
  CHECK(held.empty());
}

TEST_CASE("the number of queued calls is limited") {
  queued_calls held;
  for (std::size_t i = 0; i < queued_calls::count_max; ++i)
    REQUIRE(held.add(call_of(i + 1, 0)));
  CHECK_FALSE(held.has_space_for(call_of(1, 0)));
  CHECK_FALSE(held.add(call_of(1, 0)));
  CHECK(held.size() == queued_calls::count_max);
  held.take_all();
  CHECK(held.add(call_of(1, 0)));
}

TEST_CASE("the bytes of queued calls are limited") {
  queued_calls held;
  const auto half = call_of(1, queued_calls::bytes_max / 2);
  REQUIRE(held.add(half));
  REQUIRE(held.add(half));
  CHECK(held.add(call_of(2, 0)));
  CHECK_FALSE(held.add(call_of(3, 1)));
  // Taking calls frees space again.
  held.take_all();
  CHECK(held.add(half));
}

TEST_CASE("this node's own requests have their own limit") {
  const auto own = [](std::size_t bytes) {
    return queued_call{{node_id{1}, {}}, call_kind::propose, make_payload(std::string(bytes, 'x')), local_time{0}};
  };
  queued_calls held(1);
  REQUIRE(held.add(call_of(1, 1)));
  REQUIRE_FALSE(held.has_space_for(call_of(2, 1)));
  SECTION("their number") {
    for (std::size_t i = 0; i < queued_calls::own_count_max; ++i)
      REQUIRE(held.add(own(0)));
    CHECK_FALSE(held.add(own(0)));
    held.take_all();
    CHECK(held.add(own(0)));
  }
  SECTION("their bytes") {
    REQUIRE(held.add(own(queued_calls::bytes_max)));
    CHECK_FALSE(held.add(own(1)));
  }
  SECTION("they take no space from clients") {
    held.take_all();
    REQUIRE(held.add(own(1)));
    CHECK(held.add(call_of(1, 1)));
  }
}
