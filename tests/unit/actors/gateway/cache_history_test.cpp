// The cache that a server reports: a miss, then hits (docs/contract/06, section 2).

#include "actors/gateway/cache_history.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;
using namespace std::chrono_literals;

namespace {

http::cached_read read_of(std::string target, bool refreshed = true) {
  http::cached_read r;
  r.target = std::move(target);
  r.refreshed = refreshed;
  return r;
}

struct history {
  cache_history kept;
  monotonic_time now{1000s};

  /// `MISS`, or the age of a hit in seconds.
  std::string cached_header(const http::cached_read& r, std::string_view secret = "",
                            cache_history::circumstances c = {}) {
    const auto mark = kept.answered(secret, r, c, now);
    return mark.hit ? std::to_string(mark.age.count()) : "MISS";
  }
};

} // namespace

TEST_CASE("cache history: one token's answers are no hits of another one") {
  history h;
  const auto web = read_of("/v1/health/service/web");
  CHECK(h.cached_header(web) == "MISS");
  h.now += 7s;
  CHECK(h.cached_header(web) == "0"); // entries that are kept up to date have no age
  CHECK(h.cached_header(web, "a") == "MISS");
  CHECK(h.cached_header(web, "a") == "0");
  CHECK(h.cached_header(read_of("/v1/health/service/db")) == "MISS");
}

TEST_CASE("cache history: a read that waited is a miss, and the age tells for how long there is no leader") {
  history h;
  const auto web = read_of("/v1/catalog/service/web");
  h.cached_header(web);
  CHECK(h.cached_header(web, "", {.waited = true}) == "MISS");
  CHECK(h.cached_header(web, "", {.silent_for = 12s}) == "12");
  CHECK(h.cached_header(web) == "0");
}

TEST_CASE("cache history: Cache-Control decides where changes are not followed, and nowhere else") {
  history h;
  auto list = read_of("/v1/catalog/datacenters", false);
  CHECK(h.cached_header(list) == "MISS");
  h.now += 5s;
  CHECK(h.cached_header(list) == "5");
  list.max_age = 5s;
  CHECK(h.cached_header(list) == "5");
  list.max_age = 4s;
  CHECK(h.cached_header(list) == "MISS");
  CHECK(h.cached_header(list) == "0"); // starts again from here
  list.max_age.reset();
  list.must_revalidate = true;
  CHECK(h.cached_header(list) == "MISS");
  auto web = read_of("/v1/catalog/service/web");
  web.must_revalidate = true;
  web.max_age = 0s;
  h.cached_header(web);
  h.now += 5s;
  CHECK(h.cached_header(web) == "0");
}

TEST_CASE("cache history: unread entries are dropped, and so is what exceeds the limit") {
  history h{cache_history({.entries_max = 3, .unused = 60s})};
  for (const auto* name : {"a", "b", "c"})
    CHECK(h.cached_header(read_of(name)) == "MISS");
  CHECK(h.cached_header(read_of("a")) == "0");
  CHECK(h.cached_header(read_of("d")) == "MISS");
  CHECK(h.cached_header(read_of("e")) == "MISS"); // there are four for a moment: b is dropped, the least recently read
  CHECK(h.kept.size() <= 4);
  CHECK(h.cached_header(read_of("a")) == "0");
  CHECK(h.cached_header(read_of("b")) == "MISS");
  h.now += 61s;
  CHECK(h.cached_header(read_of("a")) == "MISS");
  CHECK(h.kept.size() == 1);
}
