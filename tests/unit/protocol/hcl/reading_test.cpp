// The values of numbers in documents.

#include "protocol/hcl/parser.hpp"
#include "protocol/hcl/reading.hpp"

#include <catch2/catch.hpp>

using namespace belay::hcl;

namespace {

number only_number(std::string_view text) {
  INFO(text);
  auto document = parse("a = " + std::string(text));
  REQUIRE(std::holds_alternative<object>(document));
  return std::get<number>(std::get<object>(document).items.at(0).is.is);
}

} // namespace

TEST_CASE("values as whole numbers") {
  struct {
    std::string_view text;
    std::int64_t number;
  } const rows[] = {
      {"0", 0},
      {"10", 10},
      {"-10", -10},
      {"0x1F", 31},
      {"-0Xff", -255},
      {"017", 15},
      {"00", 0},
      {"9223372036854775807", INT64_MAX},
      {"-9223372036854775808", INT64_MIN},
      {"-0x8000000000000000", INT64_MIN},
  };
  for (const auto& row : rows) {
    INFO(row.text);
    const auto read = as_integer(only_number(row.text));
    REQUIRE(read);
    CHECK(*read == row.number);
  }
  struct {
    std::string_view text, why;
  } const wrong[] = {
      {"08", "strconv.ParseInt: parsing \"08\": invalid syntax"},
      {"9223372036854775808", "strconv.ParseInt: parsing \"9223372036854775808\": value out of range"},
      {"-9223372036854775809", "strconv.ParseInt: parsing \"-9223372036854775809\": value out of range"},
      {"99999999999999999999999", "strconv.ParseInt: parsing \"99999999999999999999999\": value out of range"},
  };
  for (const auto& row : wrong) {
    INFO(row.text);
    const auto read = as_integer(only_number(row.text));
    REQUIRE(!read);
    CHECK(read.error() == row.why);
  }
}

TEST_CASE("values as numbers") {
  CHECK(*as_real(only_number("1.5e3")) == 1500.0);
  CHECK(*as_real(only_number(".5")) == 0.5);
  CHECK(*as_real(only_number("2.")) == 2.0);
  CHECK(as_real(only_number("1ex")).reason().text == "strconv.ParseFloat: parsing \"1ex\": invalid syntax");
  CHECK(as_real(only_number("1e999")).reason().text == "strconv.ParseFloat: parsing \"1e999\": value out of range");
}
