#include "actors/tables/acquires_underway.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;
using std::chrono::milliseconds;

namespace {

check_write acquire(std::uint64_t id, const std::string& key) {
  state::kv_op op;
  op.verb = state::kv_verb::lock;
  op.key = key;
  return {request_id{id}, state::kv_write{op}};
}

std::vector<std::uint64_t> ids_of(const std::vector<check_write>& writes) {
  std::vector<std::uint64_t> ids;
  for (const auto& w : writes)
    ids.push_back(w.id.value);
  return ids;
}

constexpr monotonic_time t0{std::chrono::seconds(100)};

using ids = std::vector<std::uint64_t>;

} // namespace

TEST_CASE("one acquire of a key proceeds, the others wait for it in order", "[acquires_underway]") {
  acquires_underway a;
  CHECK_FALSE(a.keep(acquire(1, "a"), t0));
  CHECK(a.keep(acquire(2, "a"), t0));
  CHECK_FALSE(a.keep(acquire(3, "b"), t0));
  CHECK(a.keep(acquire(4, "a"), t0));
  CHECK(ids_of(a.applied("a")) == ids{2, 4});
  CHECK(a.applied("a").empty());
  CHECK_FALSE(a.keep(acquire(5, "a"), t0)); // the next one is proposed
  CHECK_FALSE(a.empty());
  CHECK(a.applied("b").empty());
  CHECK(ids_of(a.all()).empty());
  CHECK(a.empty());
}

TEST_CASE("an acquire that does not come through the log is waited for until its deadline", "[acquires_underway]") {
  acquires_underway a;
  CHECK_FALSE(a.keep(acquire(1, "a"), t0));
  CHECK_FALSE(a.keep(acquire(2, "b"), t0 + milliseconds(100)));
  CHECK(a.keep(acquire(3, "a"), t0 + milliseconds(200)));
  CHECK(a.keep(acquire(4, "b"), t0 + milliseconds(200)));
  CHECK(a.timed_out(t0 + milliseconds(499)).empty());
  CHECK(ids_of(a.timed_out(t0 + milliseconds(500))) == ids{3});
  CHECK(ids_of(a.timed_out(t0 + milliseconds(600))) == ids{4});
  CHECK(a.empty());
}

TEST_CASE("no row is kept when there are very many", "[acquires_underway]") {
  acquires_underway a;
  CHECK_FALSE(a.keep(acquire(1, "a"), t0));
  for (std::size_t i = 0; i < acquires_underway::kept_max; ++i)
    REQUIRE(a.keep(acquire(2 + i, "a"), t0));
  CHECK_FALSE(a.keep(acquire(1, "a"), t0));
  CHECK(a.applied("a").size() == acquires_underway::kept_max);
  CHECK_FALSE(a.keep(acquire(1, "a"), t0));
  CHECK(a.keep(acquire(2, "a"), t0));
}
