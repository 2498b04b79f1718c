// Failures that need few of many choices are reduced to these, with few runs.

#include "sim/program/shrink.hpp"
#include "tests/sim/fake_run.hpp"

#include "protocol/base/random.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace belay;
using namespace belay::sim;
using namespace belay::sim::testing;

namespace {

using tape_items = std::vector<tape_item>;

/// `count` different items over all kinds, eight streams each.
tape_items many_items(std::size_t count, std::uint64_t seed) {
  seeded_random random(seed);
  tape_items items;
  for (std::size_t i = 0; i < count; ++i) {
    const stream s{static_cast<stream_kind>(i % 7), static_cast<std::uint16_t>(random.below(8))};
    items.push_back({s, i, 1 + random.below(1000)});
  }
  std::sort(items.begin(), items.end());
  return items;
}

bool has(const tape_items& items, const tape_item& wanted) {
  return std::any_of(items.begin(), items.end(), [&](const tape_item& i) {
    return i.from == wanted.from && i.position == wanted.position && i.value >= wanted.value;
  });
}

/// Fails if all of `needed` are there, each with at least its value.
attempt_function fails_with(const tape_items& needed) {
  return [needed](const tape_items& items) {
    attempt a;
    a.taken = items;
    if (std::all_of(needed.begin(), needed.end(), [&](const tape_item& n) { return has(items, n); }))
      a.report = broken_run({}, run_outcome::safety, "replies", "with " + std::to_string(items.size()));
    return a;
  };
}

} // namespace

TEST_CASE("shrink: three needed choices among 5000 are found with few runs") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto items = many_items(5000, seed);
    seeded_random random(seed + 100);
    tape_items needed;
    while (needed.size() < 3) {
      auto one = items[random.below(items.size())];
      one.value = 1;
      if (!has(needed, one))
        needed.push_back(one);
    }
    std::sort(needed.begin(), needed.end());
    const auto s = shrink(items, fails_with(needed), {});
    INFO("seed " << seed << ", " << s.runs << " runs");
    CHECK(s.reproduced);
    CHECK(s.minimal);
    CHECK(s.items == needed);
    CHECK(s.runs < 400);
    CHECK(s.report.what == "with 3");
  }
}

TEST_CASE("shrink: neighbours of one stream, as a scheduling bug needs them") {
  tape_items items;
  for (std::uint64_t i = 0; i < 5000; ++i)
    items.push_back({{stream_kind::schedule, 0}, i, 1});
  const tape_items needed(items.begin() + 2498, items.begin() + 2503);
  const auto s = shrink(items, fails_with(needed), {});
  CHECK(s.items == needed);
  CHECK(s.runs < 400);
}

TEST_CASE("shrink: a failure that needs nothing becomes the empty tape") {
  const auto s = shrink(many_items(5000, 1), fails_with({}), {});
  CHECK(s.items.empty());
  CHECK(s.minimal);
  CHECK(s.runs <= 3);
}

TEST_CASE("shrink: values go down as far as they may") {
  const stream s1{stream_kind::network, 1};
  // One needs at least 100: halving stops at the last that still fails.
  const auto s = shrink({{s1, 5, 900}, {s1, 6, 900}}, fails_with({{s1, 5, 100}, {s1, 6, 1}}), {});
  REQUIRE(s.items.size() == 2);
  CHECK(s.items[0].value == 112);
  CHECK(s.items[1].value == 1);
  CHECK(s.minimal);
}

TEST_CASE("shrink: a different failure does not count") {
  // Without the first item it also fails, but elsewhere: following that would lose the bug.
  const tape_item first{{stream_kind::disk, 0}, 1, 1}, second{{stream_kind::disk, 0}, 2, 1};
  const auto run = [&](const tape_items& items) {
    attempt a;
    a.taken = items;
    if (has(items, first) && has(items, second))
      a.report = broken_run({}, run_outcome::safety, "replies", "x");
    else if (has(items, second))
      a.report = broken_run({}, run_outcome::safety, "raft invariants", "x");
    else
      a.report = broken_run({}, run_outcome::liveness, "replies", "x");
    return a;
  };
  const auto s = shrink({first, second, {{stream_kind::clock, 0}, 3, 1}}, run, {});
  CHECK(s.items == tape_items{first, second});
  CHECK(s.report.outcome == run_outcome::safety);
  CHECK(s.report.checker == "replies");
}

TEST_CASE("shrink: continues with what the run used, which may be less than it was given") {
  const tape_item needed{{stream_kind::nemesis, 0}, 3, 1};
  const auto run = [&](const tape_items& items) {
    attempt a;
    // Stops at its failure: no later choice is made.
    for (const auto& i : items)
      if (i <= tape_item{needed.from, needed.position, UINT64_MAX})
        a.taken.push_back(i);
    if (has(items, needed))
      a.report = broken_run({}, run_outcome::safety, "replies", "x");
    return a;
  };
  auto items = many_items(1000, 3);
  items.push_back(needed);
  const auto s = shrink(items, run, {});
  CHECK(s.items == tape_items{needed});
}

TEST_CASE("shrink: a tape that passes is left alone") {
  const auto items = many_items(10, 1);
  const auto s = shrink(items, fails_with({{{stream_kind::clock, 99}, 0, 1}}), {});
  CHECK_FALSE(s.reproduced);
  CHECK(s.items == items);
  CHECK(s.runs == 1);
}

TEST_CASE("shrink: the limit of runs is kept, and the result still fails") {
  const auto items = many_items(5000, 2);
  const tape_items needed = {items[100], items[2000], items[4000]};
  for (const std::uint64_t limit : {1u, 2u, 20u, 40u}) {
    std::uint64_t runs = 0;
    const auto fails = fails_with(needed);
    const auto counted = [&](const tape_items& i) {
      ++runs;
      return fails(i);
    };
    const auto s = shrink(items, counted, {limit, std::chrono::seconds(100)});
    CHECK(runs <= limit);
    CHECK(s.runs == runs);
    CHECK_FALSE(s.minimal);
    CHECK(fails(s.items).report.outcome == run_outcome::safety);
  }
  const auto no_time = shrink(items, fails_with(needed), {2000, std::chrono::seconds(0)});
  CHECK(no_time.runs == 1);
  CHECK_FALSE(no_time.minimal);
}

TEST_CASE("shrink: progress is reported after each success") {
  std::vector<std::size_t> sizes;
  const auto items = many_items(200, 2);
  shrink(items, fails_with({items[10]}), {}, [&](std::size_t left, std::uint64_t) { sizes.push_back(left); });
  REQUIRE(sizes.size() > 2);
  CHECK(sizes.front() == 200);
  CHECK(sizes.back() == 1);
  CHECK(std::is_sorted(sizes.rbegin(), sizes.rend()));
}
