// Choices are the same each time, in memory and through a file.

#include "sim/chance/tape.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::sim;

namespace {

constexpr stream disk_1{stream_kind::disk, 1};
constexpr stream disk_2{stream_kind::disk, 2};
constexpr stream order{stream_kind::schedule, 0};

std::vector<std::uint64_t> answers(tape& t, stream s, int questions, std::uint64_t n = 1000) {
  std::vector<std::uint64_t> out;
  for (int i = 0; i < questions; ++i)
    out.push_back(t.choose(s, n));
  return out;
}

saved_tape example() {
  saved_tape t;
  t.seed = UINT64_MAX;
  t.profile = "swarm";
  t.mutant = "commit_any_term";
  t.expect = "safety";
  t.story = "Two leaders\n\n# in one term\n";
  t.chaos_seconds = 90;
  t.items = {{{stream_kind::swarm, 0}, 0, 3},
             {{stream_kind::schedule, 0}, 17, 1},
             {{stream_kind::nemesis, 2}, 5, 2},
             {{stream_kind::network, 12}, 7, UINT64_MAX},
             {{stream_kind::disk, UINT16_MAX}, UINT64_MAX, 1},
             {{stream_kind::client, 4}, 1, 9},
             {{stream_kind::clock, 1}, 2, 4}};
  return t;
}

} // namespace

TEST_CASE("tape: a seed decides all answers, and streams do not disturb each other") {
  tape a(7), b(7), c(8);
  const auto first = answers(a, disk_1, 50);
  answers(b, order, 13);
  answers(b, disk_2, 5);
  CHECK(answers(b, disk_1, 50) == first);
  CHECK(answers(c, disk_1, 50) != first);
  tape d(7);
  CHECK(answers(d, disk_2, 50) != first);
}

TEST_CASE("tape: a recorded tape reproduces the run") {
  tape drawn(3);
  std::vector<std::uint64_t> was;
  const auto ask = [](tape& t, std::vector<std::uint64_t>& into) {
    for (int i = 0; i < 400; ++i) {
      into.push_back(t.choose(order, 3));
      into.push_back(t.choose_rarely(disk_1, 10, 100'000));
      into.push_back(t.chance(disk_2, 500'000) ? 1 : 0);
    }
  };
  ask(drawn, was);
  const auto items = drawn.taken();
  CHECK(items.size() == static_cast<std::size_t>(std::count_if(was.begin(), was.end(), [](auto n) { return n != 0; })));
  CHECK(std::is_sorted(items.begin(), items.end()));

  auto shuffled = items;
  std::reverse(shuffled.begin(), shuffled.end());
  tape replayed(3, shuffled);
  std::vector<std::uint64_t> now;
  ask(replayed, now);
  CHECK(now == was);
  CHECK(replayed.taken() == items);
}

TEST_CASE("tape: a choice without an item is 0, and an item that is too large is cut") {
  tape t(1, {{disk_1, 2, 5}, {disk_1, 4, 900}, {disk_2, 100, 1}});
  CHECK(answers(t, disk_1, 6, 10) == std::vector<std::uint64_t>{0, 0, 5, 0, 9, 0});
  // Never requested: not taken.
  CHECK(t.taken() == std::vector<tape_item>{{disk_1, 2, 5}, {disk_1, 4, 9}});
  CHECK(t.questions() == 6);
}

TEST_CASE("tape: text and back") {
  const auto t = example();
  const auto text = to_text(t);
  auto back = parse_tape(text);
  REQUIRE(back.ok());
  CHECK(back->seed == t.seed);
  CHECK(back->profile == t.profile);
  CHECK(back->mutant == t.mutant);
  CHECK(back->expect == t.expect);
  CHECK(back->story == t.story);
  CHECK(back->chaos_seconds == t.chaos_seconds);
  CHECK(back->items == t.items);
  CHECK(to_text(*back) == text);

  auto empty = parse_tape(to_text({}));
  REQUIRE(empty.ok());
  CHECK(empty->items.empty());
  CHECK(empty->mutant.empty());
  CHECK(empty->chaos_seconds == 0);
}

TEST_CASE("tape: damaged text is refused, and the line is named") {
  const std::string head = "belay-sim tape 1\nseed 1\nprofile swarm\n";
  REQUIRE(parse_tape(head + "disk 1 2 3\n").ok());
  CHECK(parse_tape("").error() == "not a tape: the first line must be \"belay-sim tape 1\"");
  CHECK_FALSE(parse_tape("belay-sim tape 2\nseed 1\n").ok());
  for (const auto* line : {"disk 1 2", "disk 1 2 3 4", "disc 1 2 3", "disk 1 2 0", "disk 65536 2 3", "disk -1 2 3",
                           "disk 1 x 3", "disk 1 2 18446744073709551616", "disk", "seed", "chaos_seconds 1x"}) {
    INFO(line);
    const auto t = parse_tape(head + line + "\ndisk 1 2 3\n");
    REQUIRE_FALSE(t.ok());
    CHECK(t.error() == "line 4 of the tape cannot be read: " + std::string(line));
  }
}
