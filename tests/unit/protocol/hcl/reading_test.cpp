// Queries on documents: items by name, blocks in any notation, values in the needed type.

#include "protocol/hcl/reading.hpp"
#include "tests/unit/protocol/hcl/dumped.hpp"

#include <catch2/catch.hpp>

#include <vector>

using namespace belay::hcl;
using namespace belay::hcl::tests;

namespace {

object document(std::string_view text) {
  INFO(text);
  auto result = parse(text);
  REQUIRE(std::holds_alternative<object>(result));
  return std::get<object>(std::move(result));
}

value only_value(std::string_view text) {
  return document("a = " + std::string(text)).items.at(0).is;
}

} // namespace

TEST_CASE("items by name") {
  const auto d = document("a = 1 B = 2 b = 3 c \"b\" {}");
  CHECK(find_all(d, "b").size() == 2); // case-insensitive, and not where it is a label
  REQUIRE(find(d, "b") != nullptr);
  CHECK(find(d, "b")->at.column == 13); // the last one
  CHECK(find(d, "A") == &d.items[0]);
  CHECK(find(d, "d") == nullptr);
  CHECK(find_all(d, "d").empty());
}

// A policy is written by hand, or by a program as JSON. The reader must not notice the difference.
TEST_CASE("blocks look the same however they were written") {
  for (const std::string_view text : {
           R"(k "x" { p = "r" } k "y" { p = "w" })",
           R"(K "x" { p = "r" } k = { y = { p = "w" } })",
           R"(k { "x" { p = "r" } "y" { p = "w" } })",
           R"(k = { x = { p = "r" } } k = { "y" = { p = "w" } })",
           R"(k = [{ x { p = "r" } }, { y { p = "w" } }])",
           R"({"k": {"x": {"p": "r"}, "y": {"p": "w"}}})",
           R"({"k": [{"x": {"p": "r"}}, {"y": {"p": "w"}}]})",
           R"({"k": {"x": [{"p": "r"}], "y": {"p": "w"}}})",
           R"({"k": {"x": {"p": "r"}}, "k": {"y": {"p": "w"}}})",
       }) {
    INFO(text);
    const auto d = document(text);
    std::string all;
    for (const auto& each : blocks(d, "k")) {
      CHECK(each.more_labels.empty());
      REQUIRE(each.is != nullptr);
      (all += each.label) += dumped(*each.is, locations::left_out) + ' ';
    }
    CHECK(all == R"(x{"p" "r"} y{"p" "w"} )");
  }
}

TEST_CASE("blocks: labels after the name come first, others are kept") {
  const auto d = document(R"(k { x = 1 } k "y" "z" "w" {} k = 2 other "v" {})");
  const auto found = blocks(d, "k");
  REQUIRE(found.size() == 2);
  CHECK(found[0].label == "y");
  CHECK(std::vector<std::string>(found[0].more_labels.begin(), found[0].more_labels.end()) ==
        std::vector<std::string>{"z", "w"});
  CHECK(found[0].at.column == 13);
  CHECK(found[1].label == "x");
  CHECK(found[1].at.column == 5);
  CHECK(std::holds_alternative<number>(found[1].is->is)); // left for the reader to reject
}

TEST_CASE("values as texts") {
  CHECK(*as_text(only_value(R"("a\n")")) == "a\n");
  CHECK(*as_text(only_value("0x10")) == "0x10");
  for (const auto* none : {"1.5", "true", "[]", "{}"}) {
    INFO(none);
    CHECK(as_text(only_value(none)).reason().text == "is not a text");
  }
}

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
      {"\"12\"", 12},
      {"\"+0x10\"", 16},
      {"9223372036854775807", INT64_MAX},
      {"-9223372036854775808", INT64_MIN},
      {"-0x8000000000000000", INT64_MIN},
  };
  for (const auto& row : rows) {
    INFO(row.text);
    const auto read = as_integer(only_value(row.text));
    REQUIRE(read);
    CHECK(*read == row.number);
  }
  struct {
    std::string_view text, why;
  } const wrong[] = {
      {"08", "strconv.ParseInt: parsing \"08\": invalid syntax"},
      {"\"\"", "strconv.ParseInt: parsing \"\": invalid syntax"},
      {"\"-\"", "strconv.ParseInt: parsing \"-\": invalid syntax"},
      {"\"0x\"", "strconv.ParseInt: parsing \"0x\": invalid syntax"},
      {"\"1 \"", "strconv.ParseInt: parsing \"1 \": invalid syntax"},
      {"9223372036854775808", "strconv.ParseInt: parsing \"9223372036854775808\": value out of range"},
      {"-9223372036854775809", "strconv.ParseInt: parsing \"-9223372036854775809\": value out of range"},
      {"99999999999999999999999", "strconv.ParseInt: parsing \"99999999999999999999999\": value out of range"},
      {"1.0", "is not a whole number"},
      {"true", "is not a whole number"},
      {"[1]", "is not a whole number"},
  };
  for (const auto& row : wrong) {
    INFO(row.text);
    const auto read = as_integer(only_value(row.text));
    REQUIRE(!read);
    CHECK(read.error() == row.why);
  }
}

TEST_CASE("values as numbers") {
  CHECK(*as_real(only_value("1.5e3")) == 1500.0);
  CHECK(*as_real(only_value(".5")) == 0.5);
  CHECK(*as_real(only_value("2.")) == 2.0);
  CHECK(*as_real(only_value("0x10")) == 16.0);
  CHECK(as_real(only_value("1ex")).reason().text == "strconv.ParseFloat: parsing \"1ex\": invalid syntax");
  CHECK(as_real(only_value("1e999")).reason().text == "strconv.ParseFloat: parsing \"1e999\": value out of range");
  CHECK(as_real(only_value("\"1.5\"")).reason().text == "is not a number");
}

TEST_CASE("values as booleans") {
  for (const auto* yes : {"true", "1", "\"true\"", "\"TRUE\"", "\"1\""}) {
    INFO(yes);
    CHECK(*as_boolean(only_value(yes)));
  }
  for (const auto* no : {"false", "0", "\"False\"", "\"0\""}) {
    INFO(no);
    const auto read = as_boolean(only_value(no));
    REQUIRE(read);
    CHECK(!*read);
  }
  CHECK(as_boolean(only_value("\"yes\"")).reason().text == "decodeBool: Unknown value for boolean: \"yes\"");
  CHECK(as_boolean(only_value("2")).reason().text == "decodeBool: Unknown value for boolean: 2");
  CHECK(as_boolean(only_value("1.0")).reason().text == "is not a boolean");
  CHECK(as_boolean(only_value("[true]")).reason().text == "is not a boolean");
}

TEST_CASE("locations in files") {
  CHECK(location_text("server.hcl", {12, 3}) == "server.hcl:12:3");
}
