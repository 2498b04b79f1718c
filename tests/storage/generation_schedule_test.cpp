#include "storage/checkpoint/generation_schedule.hpp"

#include <catch2/catch.hpp>

using namespace belay::storage;
using std::chrono::hours;
using std::chrono::minutes;

// When to replace the older generation: too late, the log grows; too early, copies wear the disk.
TEST_CASE("the older generation is replaced once it is old, or much log follows it") {
  constexpr std::uint64_t mib = 1 << 20;
  const generation_limits limits{100 * mib, hours(1), 10};
  struct row {
    const char* what;
    std::uint64_t log, checkpoints, copy;
    std::chrono::nanoseconds after;
    bool needed, due;
  };
  const row table[] = {
      {"at once", 0, 0, mib, minutes(0), false, false},
      {"there is none that the log reaches back to", 0, 0, 500 * mib, minutes(0), true, true},
      {"one byte short of the log limit", 100 * mib - 1, 0, mib, minutes(59), false, false},
      {"the log limit", 100 * mib, 0, mib, minutes(1), false, true},
      {"the age limit", 10 * mib, 0, mib, hours(1), false, true},
      {"the age limit, nothing was written", 0, 0, mib, hours(1), false, false},
      {"a copy would add more than a tenth", 100 * mib, 99 * mib, 20 * mib, hours(2), false, false},
      {"a copy adds a tenth", 100 * mib, 100 * mib, 20 * mib, hours(2), false, true},
  };
  for (const auto& r : table) {
    INFO(r.what);
    generation_schedule s(limits, hours(5), 0);
    s.wrote(r.log / 2, r.checkpoints);
    s.wrote(r.log - r.log / 2, 0);
    CHECK(s.due(hours(5) + r.after, r.needed, r.copy) == r.due);
    s.kept(hours(5) + r.after);
    CHECK_FALSE(s.due(hours(5) + r.after, false, r.copy));
  }
  // The log that a start finds counts, too.
  generation_schedule found(limits, hours(0), 100 * mib);
  found.wrote(10 * mib, 0);
  CHECK(found.due(minutes(1), false, mib));
  // All of it was written since the copy. Otherwise a server that is restarted each night never
  // writes ten times the size of a copy in one life, and its log grows without a bound.
  CHECK(found.due(minutes(1), false, 11 * mib));
  CHECK_FALSE(found.due(minutes(1), false, 12 * mib));
}
