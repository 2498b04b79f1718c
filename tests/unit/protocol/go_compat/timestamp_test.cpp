// Times in JSON, as Go's encoder and decoder treat them.

#include "protocol/go_compat/timestamp.hpp"

#include <catch2/catch.hpp>

#include <limits>

using namespace belay::go_compat;

TEST_CASE("times are written with as many digits as they need") {
  struct row {
    std::int64_t ns;
    const char* text;
  };
  for (const auto& t :
       {row{0, "1970-01-01T00:00:00Z"}, row{1'600'000'000'062'313'813, "2020-09-13T12:26:40.062313813Z"},
        row{1'600'000'000'500'000'000, "2020-09-13T12:26:40.5Z"}, row{1, "1970-01-01T00:00:00.000000001Z"},
        row{-1, "1969-12-31T23:59:59.999999999Z"}, row{951'782'400'000'000'000, "2000-02-29T00:00:00Z"}}) {
    CHECK(format_timestamp(timestamp::of(t.ns)) == t.text);
    const auto back = parse_timestamp(t.text);
    REQUIRE(back);
    CHECK(back->ns_since_1970() == t.ns);
  }
  CHECK(format_timestamp(timestamp::none()) == "0001-01-01T00:00:00Z");
}

TEST_CASE("offsets are subtracted, digits after the ninth cut off") {
  struct row {
    const char *text, *same;
  };
  for (const auto& t : {row{"2020-09-13T14:26:40+02:00", "2020-09-13T12:26:40Z"},
                        row{"2020-01-01T00:00:00-00:30", "2020-01-01T00:30:00Z"},
                        row{"2020-01-01T00:00:00.1234567899Z", "2020-01-01T00:00:00.123456789Z"},
                        row{"2020-01-01T00:00:00.10Z", "2020-01-01T00:00:00.1Z"}}) {
    const auto read = parse_timestamp(t.text);
    REQUIRE(read);
    CHECK(format_timestamp(*read) == t.same);
  }
}

TEST_CASE("invalid times are rejected") {
  for (const auto text :
       {"", "abc", "2020-09-13", "2020-09-13T12:26:40", "2020-09-13 12:26:40Z", "2020-13-01T00:00:00Z",
        "2021-02-29T00:00:00Z", "2020-01-01T24:00:00Z", "2020-01-01T00:60:00Z", "2020-01-01T00:00:60Z",
        "2020-01-01T00:00:00.Z", "2020-01-01T00:00:00+1:00", "2020-01-01T00:00:00Zx", "-020-01-01T00:00:00Z",
        "20200-01-01T00:00:00Z", "2020-01-01T00:00:00z", "2020-01-00T00:00:00Z"}) {
    INFO(text);
    const auto read = parse_timestamp(text);
    REQUIRE_FALSE(read);
    CHECK(read.error().rfind("parsing time \"", 0) == 0);
  }
}

TEST_CASE("times beyond 64 bits of nanoseconds become the nearest one") {
  CHECK(parse_timestamp("9999-12-31T23:59:59Z")->ns_since_1970() == std::numeric_limits<std::int64_t>::max());
  CHECK(timestamp::none().ns_since_1970() == std::numeric_limits<std::int64_t>::min());
}
