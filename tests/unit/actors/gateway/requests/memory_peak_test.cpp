// Memory goes back to the system after a peak: once, not for each of its parts, and not while it is in use.

#include "actors/gateway/requests/memory_peak.hpp"

#include <catch2/catch.hpp>

using namespace belay::actors;
using namespace std::chrono_literals;

TEST_CASE("memory_peak: given back after a peak, and not again before the next") {
  constexpr std::size_t mib = 1 << 20;
  struct row {
    const char* what;
    std::chrono::seconds at;
    std::size_t held, due;
  };
  const row rows[] = {
      {"little is held", 100s, 1 * mib, 0},
      {"much is held", 101s, 400 * mib, 0},
      {"half of it is still in use", 102s, 200 * mib, 0},
      {"it is over", 103s, 10 * mib, 390 * mib},
      {"once", 104s, 10 * mib, 0},
      {"the next peak", 105s, 300 * mib, 0},
      {"is over too soon after the first", 106s, 0, 0},
      {"and waits for its time", 113s, 0, 300 * mib},
      {"a small peak", 200s, 20 * mib, 0},
      {"is worth nothing", 201s, 0, 0},
  };
  memory_peak p;
  for (const auto& r : rows) {
    INFO(r.what);
    CHECK(p.due(r.held, monotonic_time{r.at}) == r.due);
  }
  p.look(100 * mib); // between two of the looks at the clock
  CHECK(p.due(0, monotonic_time{300s}) == 100 * mib);
}
