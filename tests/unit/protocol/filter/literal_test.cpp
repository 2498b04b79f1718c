// Go's literals.

#include "protocol/filter/literal.hpp"

#include <catch2/catch.hpp>

#include <vector>

using namespace belay;
using namespace belay::filter;

TEST_CASE("texts between quotes") {
  const std::vector<std::pair<std::string_view, std::string>> good = {
      {"``", ""},
      {"`a\\n\r\n\"`", "a\\n\n\""},
      {R"("")", ""},
      {R"("\a\b\f\n\r\t\v\\\"")", "\a\b\f\n\r\t\v\\\""},
      {R"("\x41\101\u0042\U00000043")", "AABC"},
      {R"("\u00e9\u20ac\U0001F600")", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
      {R"("\xff")", "\xFF"},
  };
  for (const auto& [quoted, text] : good) {
    INFO(quoted);
    const auto r = unquote(quoted);
    REQUIRE(r);
    CHECK(*r == text);
  }
  for (const std::string_view bad : {"\"", "`", "\"a`", "\"\\\"", "\"\\q\"", "\"\\x4\"", "\"\\400\"", "\"\\18\"",
                                     "\"\\u12\"", "\"\\ud800\"", "\"\\U00110000\"", "\"\\'\"", "\"a\nb\""}) {
    INFO(bad);
    const auto r = unquote(bad);
    REQUIRE(!r);
    CHECK(r.error() == "invalid syntax");
  }
}

TEST_CASE("integers") {
  const std::vector<std::pair<std::string_view, std::int64_t>> good = {
      {"0", 0},
      {"-0", 0},
      {"+7", 7},
      {"0x1F", 31},
      {"0X1f", 31},
      {"017", 15},
      {"0o17", 15},
      {"0b101", 5},
      {"1_000", 1000},
      {"0x_1", 1},
      {"0_7", 7},
      {"00", 0},
      {"-0x10", -16},
      {"-9223372036854775808", INT64_MIN},
      {"9223372036854775807", INT64_MAX},
  };
  for (const auto& [text, value] : good) {
    INFO(text);
    const auto r = read_integer(text);
    REQUIRE(r);
    CHECK(*r == value);
  }
  for (const std::string_view bad :
       {"", "-", "+", "x", "08", "0x", "0b2", "1__0", "1_", "_1", "1.5", " 1", "--1", "0x_"}) {
    INFO(bad);
    const auto r = read_integer(bad);
    REQUIRE(!r);
    CHECK(r.error() == "strconv.ParseInt: parsing \"" + std::string(bad) + "\": invalid syntax");
  }
  for (const std::string_view large :
       {"9223372036854775808", "-9223372036854775809", "18446744073709551616", "0x10000000000000000"}) {
    INFO(large);
    const auto r = read_integer(large);
    REQUIRE(!r);
    CHECK(r.error() == "strconv.ParseInt: parsing \"" + std::string(large) + "\": value out of range");
  }
  CHECK(*read_natural("18446744073709551615") == UINT64_MAX);
  CHECK(!read_natural("+1"));
  CHECK(!read_natural("18446744073709551616"));
}

TEST_CASE("booleans") {
  for (const auto* yes : {"1", "t", "T", "true", "TRUE", "True"})
    CHECK(*read_boolean(yes));
  for (const auto* no : {"0", "f", "F", "false", "FALSE", "False"})
    CHECK(!*read_boolean(no));
  CHECK(read_boolean("tRUE").error() == "strconv.ParseBool: parsing \"tRUE\": invalid syntax");
}
