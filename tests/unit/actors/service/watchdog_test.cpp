// When a server counts as alive: only while the HTTP threads and Raft both make progress.

#include "actors/service/service_reports.hpp"

#include <catch2/catch.hpp>

using namespace belay::actors;
using namespace std::chrono_literals;

namespace {

constexpr watchdog::time begun{1000s};

} // namespace

TEST_CASE("the watchdog is notified while both components make progress, however little", "[service]") {
  watchdog watch(30s, begun);
  CHECK(watch.period() == 7500ms);
  auto now = begun;
  for (std::uint64_t n = 1; n < 100; ++n) {
    now += watch.period();
    CHECK(watch.look({n, n * 300}, now).feed());
  }
}

// A thread hangs in a loop or a call: the server still holds its ports, and answers no request.
TEST_CASE("one stalled component is enough to stop the watchdog notifications", "[service]") {
  struct row {
    const char* what;
    std::uint64_t http_per_check, raft_per_check;
    bool http_moves, raft_moves;
  };
  const auto r = GENERATE(row{"the HTTP thread hangs", 0, 300, false, true}, row{"Raft hangs", 30, 0, true, false},
                          row{"both hang", 0, 0, false, false});
  INFO(r.what);
  watchdog watch(30s, begun);
  progress_counts t{5, 7};
  REQUIRE(watch.look(t, begun).feed());
  auto now = begun;
  bool fed = true;
  watchdog::decision last;
  watchdog::time last_fed = begun;
  while (now < begun + 60s) {
    now += watch.period();
    t.http += r.http_per_check;
    t.raft += r.raft_per_check;
    last = watch.look(t, now);
    CHECK((fed || !last.feed())); // once it has stopped it stays so
    fed = last.feed();
    if (fed)
      last_fed = now;
  }
  CHECK_FALSE(last.feed());
  CHECK(last.http_moves == r.http_moves);
  CHECK(last.raft_moves == r.raft_moves);
  // After a last notification at the end of the first half, the service manager acts in time.
  CHECK(last_fed - begun < 15s);
  if (!r.http_moves)
    CHECK(last.http == 60s);
}

TEST_CASE("a component that continues is reported again", "[service]") {
  watchdog watch(4s, begun);
  CHECK(watch.look({1, 1}, begun).feed());
  CHECK(watch.look({1, 2}, begun + 1999ms).feed());
  CHECK_FALSE(watch.look({1, 3}, begun + 2s).feed());
  CHECK(watch.look({2, 4}, begun + 3s).feed());
  CHECK_FALSE(watch.look({2, 5}, begun + 5s).feed());
}

TEST_CASE("a server that never made progress is not reported as alive for long", "[service]") {
  watchdog watch(4s, begun);
  CHECK(watch.look({0, 0}, begun + 1s).feed());
  CHECK_FALSE(watch.look({0, 9}, begun + 2s).feed());
}
