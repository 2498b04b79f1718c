// A disk becomes slow, or always was; an operator is notified when that is news, not every time.

#include "protocol/diagnosis/slow_syncs.hpp"

#include <catch2/catch.hpp>

using namespace belay::diagnosis;
using namespace std::chrono_literals;

namespace {

/// `count` syncs of this length, `apart` from each other. @returns the number of findings
int write_for(slow_syncs& s, local_time& now, int count, std::chrono::nanoseconds took,
              std::chrono::nanoseconds apart) {
  int findings = 0;
  for (int i = 0; i < count; ++i)
    findings += s.took(took, now += apart) ? 1 : 0;
  return findings;
}

} // namespace

TEST_CASE("one sync above 500 ms is reported, at most once a minute, and none below") {
  slow_syncs s;
  local_time now = 1h;
  CHECK_FALSE(s.took(2ms, now += 1s));
  CHECK_FALSE(s.took(500ms, now += 1s));
  const auto found = s.took(501ms, now += 1s);
  REQUIRE(found);
  CHECK(found->longest == 501ms);
  CHECK_FALSE(s.took(900ms, now += 1s));
  CHECK_FALSE(s.took(700ms, now += 50s));
  // No long sync is lost: the next line has the longest since the previous one.
  const auto next = s.took(2ms, now += 10s);
  REQUIRE(next);
  CHECK(next->longest == 900ms);
  CHECK_FALSE(s.took(2ms, now += 2min));
}

TEST_CASE("ten syncs within a minute above ten times the median of the last hour are reported") {
  slow_syncs s;
  local_time now = 1h;
  REQUIRE(write_for(s, now, 1000, 2ms, 1s) == 0);
  CHECK(s.median() >= 2ms);
  CHECK(s.median() <= 2500us);
  // 24 ms is at most ten times the upper bound of the median's bucket; 26 ms is more.
  CHECK(write_for(s, now, 20, 19ms, 1s) == 0);
  CHECK(write_for(s, now, 9, 26ms, 1s) == 0);
  const auto found = s.took(40ms, now += 1s);
  REQUIRE(found);
  CHECK(found->longest == 40ms);
  CHECK(found->slow == 10);
  CHECK(found->median <= 2500us);
  CHECK(write_for(s, now, 59, 26ms, 1s) == 0); // reported already, less than a minute ago
  CHECK(write_for(s, now, 1, 26ms, 1s) == 1);
}

TEST_CASE("nine slow syncs in a minute are not reported") {
  slow_syncs s;
  local_time now = 1h;
  REQUIRE(write_for(s, now, 1000, 2ms, 100ms) == 0);
  for (int minute = 0; minute < 30; ++minute)
    CHECK(write_for(s, now, 9, 100ms, 6700ms) == 0);
}

TEST_CASE("a disk that always was slow is measured by its usual times") {
  slow_syncs s;
  local_time now = 1h;
  CHECK(write_for(s, now, 500, 80ms, 1s) == 0);
  CHECK(write_for(s, now, 500, 300ms, 1s) == 0);
}

TEST_CASE("syncs of a few milliseconds are not reported, however far above the median they are") {
  slow_syncs s;
  local_time now = 1h;
  REQUIRE(write_for(s, now, 1000, 30us, 10ms) == 0);
  CHECK(write_for(s, now, 500, 5ms, 10ms) == 0);
  CHECK(write_for(s, now, 10, 11ms, 10ms) == 1);
}

TEST_CASE("times more than an hour old do not count") {
  slow_syncs s;
  local_time now = 1h;
  REQUIRE(write_for(s, now, 3000, 100us, 10ms) == 0);
  CHECK(s.median() < 200us);
  now += 61min;
  REQUIRE(write_for(s, now, 5, 100ms, 10s) == 0);
  CHECK(s.median() >= 100ms);
  CHECK(write_for(s, now, 100, 400ms, 1s) == 0);
}

TEST_CASE("durations of all sizes, and the median of a half and a half") {
  slow_syncs s;
  CHECK(s.median() == 0ns);
  local_time now = 0ns;
  for (const auto d :
       {0ns, std::chrono::nanoseconds(-5), 1ns, std::chrono::nanoseconds(1h), std::chrono::nanoseconds(10h)})
    (void)s.took(d, now += 1s);
  CHECK(s.median() <= 2us);
  slow_syncs two;
  (void)two.took(1ms, now += 1s);
  (void)two.took(100ms, now += 1s);
  CHECK(two.median() <= 1250us);
}
