// The JSON accepted as HCL: its document, which names are labels, and errors.

#include "tests/unit/protocol/hcl/dumped.hpp"
#include "tests/unit/protocol/hcl/samples.hpp"

#include <catch2/catch.hpp>

using namespace std::string_view_literals;
using namespace belay::hcl;
using namespace belay::hcl::tests;

// Programs write rules as JSON, which hcl reads in its own way: a policy must mean the same.
TEST_CASE("JSON: texts and their documents") {
  for (const auto& row : json_samples) {
    INFO(row.story);
    CHECK(parsed(row.text) == row.document);
  }
}

// hcl has no locations in JSON. Ours lead to the line; all items of one name have its location.
TEST_CASE("JSON: locations") {
  CHECK(parsed("{\n  \"a\": {\"b\": {\"c\": 1},\n \"d\": {}}\n}", locations::shown) ==
        R"(@2:3 "a" "b" @2:14 {@2:15 "c" @2:20 1}; @2:3 "a" "d" @3:7 {})");
  CHECK(parsed(R"({"a": [1, {"b": "x"}]})", locations::shown) ==
        R"(@1:2 "a" @1:7 [@1:8 1, @1:11 {@1:12 "b" @1:17 "x"}])");
}

// The scanner reports a location, the grammar none.
TEST_CASE("JSON: errors") {
  struct {
    std::string_view story, text, error;
  } const rows[] = {
      {"a number for a name", "{1: 2}", "! expected: STRING got: NUMBER"},
      {"no name", "{: 1}", "! expected: STRING got: COLON"},
      {"a name alone, then a number", R"({"a" 1)", "! expected: STRING got: NUMBER"},
      {"no string", R"({"a": b})", "! 1:7: illegal char"},
      {"a bracket for a value", R"({"a": ])", "! Expected object value, got unknown token: 1:7 RBRACK ]"},
      {"a colon for a value", R"({"a": : })", "! Expected object value, got unknown token: 1:7 COLON :"},
      {"a list without end", R"({"a": [1)", "! unexpected token while parsing list: EOF"},
      {"null in a list", R"({"a": [null]})", "! unexpected token while parsing list: NULL"},
      {"a list in a list", R"({"a": [[1], 2]})", "! expected: STRING got: NUMBER"},
      {"HCL", "{a = 1}", "! 1:2: illegal char"},
      {"comments", "{\"a\": 1 # b\n}", "! 1:9: illegal char: #"},
      {"a minus alone", R"({"a": -})", "! 1:7: illegal char"},
      {"a leading zero", R"({"a": 01})", "! 1:8: numbers cannot start with 0"},
      {"text without end", R"({"a": "b)", "! 1:9: literal not terminated"},
      {"text over the end of the line", "{\"a\": \"b\n\"}", "! 2:3: literal not terminated"},
      {"a solidus is not escaped", R"({"a": "\/"})", "! 1:9: illegal char escape"},
      {"too few digits", R"({"a": "\u12"})", "! 1:12: illegal char escape"},
      {"white space that is not JSON's before it", "\v{\"a\": 1}", "! 1:1: illegal char: \v"},
      {"characters that are no signs", "{\"\xC3\xA9\": \xC3\xA4}", "! 1:7: illegal char"},
      {"escapes that stand for no byte", R"({"a": "\400"})", R"(! At 1:7: unquote "\400" err: invalid syntax)"},
      {"code 0 in an escape ends the text", "{\"a\": \"\\u00\0\"}"sv, "! 1:15: literal not terminated"},
      {"code 0 in a number belongs to it", "{\"a\": 1.2\0e3}"sv, "! 1:12: illegal char"},
      {"broken UTF-8", "{\"a\": \"\xFF\"}", "! 1:8: illegal UTF-8 encoding"},
  };
  for (const auto& row : rows) {
    INFO(row.story);
    CHECK(parsed(row.text) == row.error);
  }
}

TEST_CASE("JSON: an error keeps the position that is not shown") {
  const auto result = parse("{\"a\": 1,\n2: 3}");
  REQUIRE(std::holds_alternative<error>(result));
  const auto& e = std::get<error>(result);
  CHECK(shown(e) == "expected: STRING got: NUMBER");
  CHECK(e.at.line == 2);
  CHECK(e.at.column == 1);
}

// The first character that is not Unicode white space decides.
TEST_CASE("JSON or HCL") {
  CHECK(parsed("{\"a\": 1}") == "\"a\" 1");
  CHECK(parsed("\xE3\x80\x80{\"a\": 1}") == "! 1:1: illegal char: \xE3\x80\x80"); // JSON, which has no such space
  CHECK(parsed("# {\n\"a\" = 1") == "\"a\" 1");
  CHECK(parsed("[1]") == "! At 1:1: expected: IDENT | STRING | ASSIGN | LBRACE got: LBRACK");
}
