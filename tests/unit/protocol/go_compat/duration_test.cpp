// Durations as Go reads and writes them: clients send and compare these texts.

#include "protocol/go_compat/duration.hpp"

#include <catch2/catch.hpp>

using namespace belay::go_compat;
using std::chrono::nanoseconds;

TEST_CASE("durations that Go accepts") {
  struct row {
    const char* text;
    std::int64_t ns;
  };
  const row rows[] = {
      {"0", 0},
      {"-0", 0},
      {"1ns", 1},
      {"1us", 1000},
      {"1\xC2\xB5s", 1000},
      {"1\xCE\xBCs", 1000},
      {"300ms", 300'000'000},
      {"10s", 10'000'000'000},
      {"1.5h", 5'400'000'000'000},
      {".5s", 500'000'000},
      {"1.s", 1'000'000'000},
      {"1h30m", 5'400'000'000'000},
      {"-1m", -60'000'000'000},
      {"+5s", 5'000'000'000},
      {"0.100000000000000000000h", 360'000'000'000},
      {"9223372036854775807ns", 9223372036854775807},
      {"1m1.000000001s", 61'000'000'001},
  };
  for (const auto& r : rows) {
    INFO(r.text);
    REQUIRE(parse_duration(r.text).has_value());
    CHECK(parse_duration(r.text)->count() == r.ns);
  }
}

TEST_CASE("durations that Go refuses") {
  for (auto text : {"", "-", "abc", "10", "1", "s", ".s", "1 s", "1x", "1s ", " 1s", "--1s", "1s-1s", "1e3s",
                    "9223372036854775808ns", "2562048h", "106752d", "1.1.1s", "99999999999999999999s"}) {
    INFO(text);
    CHECK_FALSE(parse_duration(text).has_value());
  }
  CHECK(duration_complaint("abc") == R"(time: invalid duration "abc")");
  CHECK(duration_complaint("10") == R"(time: missing unit in duration "10")");
  CHECK(duration_complaint("10x") == R"(time: unknown unit "x" in duration "10x")");
}

TEST_CASE("durations as Go writes them") {
  struct row {
    std::int64_t ns;
    const char* text;
  };
  const row rows[] = {
      {0, "0s"},
      {1, "1ns"},
      {1100, "1.1\xC2\xB5s"},
      {2'200'000, "2.2ms"},
      {38'308'952, "38.308952ms"},
      {3'300'000'000, "3.3s"},
      {60'000'000'000, "1m0s"},
      {245'000'000'000, "4m5s"},
      {3'600'000'000'000, "1h0m0s"},
      {-1'500'000'000, "-1.5s"},
      {9223372036854775807, "2562047h47m16.854775807s"},
  };
  for (const auto& r : rows)
    CHECK(format_duration(nanoseconds(r.ns)) == r.text);
}
