// Texts from clients: large, deep, truncated, damaged. Parsing ends in linear time.

#include "protocol/base/random.hpp"
#include "tests/unit/protocol/hcl/dumped.hpp"
#include "tests/unit/protocol/hcl/samples.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace belay;
using namespace belay::hcl;
using namespace belay::hcl::tests;

namespace {

std::string repeated(std::string_view part, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i)
    out += part;
  return out;
}

std::vector<sample> all_samples() {
  auto all = hcl_samples;
  all.insert(all.end(), json_samples.begin(), json_samples.end());
  return all;
}

/// Each character is read once, perhaps again with its line; comments are tokens, too.
void ends_soon(std::string_view text) {
  steps taken;
  const auto result = parse(text, {}, &taken);
  CHECK(taken.characters <= 3 * text.size() + 10);
  CHECK(taken.tokens <= text.size() + 3);
  if (const auto* e = std::get_if<error>(&result)) {
    CHECK(!e->text.empty());
    CHECK(e->at.line >= 1);
    CHECK(e->at.column >= 1);
  }
}

} // namespace

TEST_CASE("a text can be as long as its limit, and no longer") {
  const limits allowed{.text_bytes_max = 8};
  CHECK(parsed("a = 1234", locations::left_out, allowed) == "\"a\" 1234");
  CHECK(parsed("a = 12345", locations::left_out, allowed) == "! At 1:1: text of 9 bytes is larger than 8 bytes");
}

// Each level takes stack, here and wherever the document is read.
TEST_CASE("nesting has a limit, whatever is nested") {
  const limits allowed{.nesting_max = 3};
  struct {
    std::string_view story, text, outcome;
  } const rows[] = {
      {"braces", "a { b { c {} } }", R"("a" {"b" {"c" {}}})"},
      {"braces, one more", "a { b { c { d {} } } }", "! At 1:15: nested deeper than 3 levels"},
      {"brackets", "a = [[[]]]", R"("a" [[[]]])"},
      {"brackets, one more: not said of the list around it", "a = [[[[]]]]", "! At 1:8: nested deeper than 3 levels"},
      {"labels stand for braces", R"(a "b" "c" {})", R"("a" "b" "c" {})"},
      {"labels, one more", R"(a "b" "c" "d" {})", "! At 1:15: nested deeper than 3 levels"},
      {"labels alone", R"(a "b" "c" "d" "e" {})", "! At 1:1: nested deeper than 3 levels"},
      {"before complaints about characters", "a = 0x b { c { d { e {} } } }", "! At 1:22: nested deeper than 3 levels"},
      {"not forgotten at a brace", "a { b { c { d { } = } } }", "! At 1:15: nested deeper than 3 levels"},
      {"JSON", R"({"a": {"b": {}}})", R"("a" "b" {})"},
      {"JSON, one more", R"({"a": {"b": {"c": {}}}})", "! At 1:19: nested deeper than 3 levels"},
      {"JSON's lists", R"({"a": [{"b": [1]}]})", "! At 1:14: nested deeper than 3 levels"},
      {"JSON's names", R"({"a" "b" "c" "d": 1})", "! At 1:2: nested deeper than 3 levels"},
  };
  for (const auto& row : rows) {
    INFO(row.story);
    CHECK(parsed(row.text, locations::left_out, allowed) == row.outcome);
  }
}

TEST_CASE("a megabyte of open braces, brackets or labels is refused, not followed") {
  const std::size_t bytes = limits{}.text_bytes_max;
  CHECK(parsed(repeated("a{", bytes / 2)) == "! At 1:202: nested deeper than 100 levels");
  CHECK(parsed("a=" + repeated("[", bytes - 2)) == "! At 1:103: nested deeper than 100 levels");
  CHECK(parsed(repeated("a ", bytes / 2 - 1) + "{}") == "! At 1:1: nested deeper than 100 levels");
  CHECK(parsed(repeated("{\"a\":", bytes / 5)) == "! At 1:501: nested deeper than 100 levels");
  CHECK(parsed("{\"a\":" + repeated("[{\"b\":", bytes / 8)) == "! At 1:301: nested deeper than 100 levels");
}

// One name of half a megabyte above a hundred thousand objects would become fifty gigabytes.
TEST_CASE("names that are repeated as labels have a limit") {
  const std::string text = R"({"name": {"a": {}, "b": {}, "c": {"x": 1}}})";
  const std::size_t each = sizeof(std::string) + 4;
  CHECK(parsed(text, locations::left_out, {.label_bytes_max = 3 * each}) ==
        R"("name" "a" {}; "name" "b" {}; "name" "c" {"x" 1})");
  CHECK(parsed(text, locations::left_out, {.label_bytes_max = 3 * each - 1}) ==
        "! At 1:2: names repeated for the objects below them take more than " + std::to_string(3 * each - 1) +
            " bytes");
  CHECK(parsed("{\"" + repeated("n", 500000) + "\": {" + repeated("\"a\":{},", 70000) + "}}") ==
        "! At 1:2: names repeated for the objects below them take more than 16777216 bytes");
}

// Counts steps, whatever the machine's load: twice the text must take about twice the steps.
TEST_CASE("parsing is linear in the text") {
  struct {
    std::string_view front, part, back;
  } const shapes[] = {
      {"", "a = 1\n", ""},
      {"", "a \"b\" { c = [1, 2] }\n", ""},
      {"", "a ", "{"},
      {"a = [", "1,", "]"},
      {"a = [", "[1] ", "]"},
      {"a = \"", "${b}", "\""},
      {"a = \"${", "{\"", ""},
      {"a = \"", "\\n", "\""},
      {"a = <<EOF\n", "EO\n", "EOF\n"},
      {"a = <<-EOF\n", "  EOF x\n", ""},
      {"a = <<", "E", "\n"},
      {"a = <<E\n", "\r", ""},
      {"", "a = <<E\n", ""},
      {"", "# a\n", ""},
      {"/*", "*", ""},
      {"", "/", ""},
      {"", "\"", ""},
      {"", "a = 0x\n", ""},
      {"", "\xC3\xA9 = 1\n", ""},
      {"", "\xFF", ""},
      {"", " ", ""},
      {"{", "\"a\": 1,", "}"},
      {"{", "\"a\": {\"b\": {\"c\": 1}},", "}"},
      {"{\"a\": [", "{\"b\": 1},", "]}"},
      {"{\"a\": \"", "${", "\"}"},
  };
  for (const auto& shape : shapes) {
    INFO(shape.front << shape.part << shape.back);
    const auto taken = [&](std::size_t times) {
      const auto text = std::string(shape.front) + repeated(shape.part, times) + std::string(shape.back);
      ends_soon(text);
      steps s;
      (void)parse(text, {}, &s);
      return static_cast<double>(s.characters + s.tokens);
    };
    const auto once = taken(1000);
    CHECK(once > 0);
    CHECK(taken(2000) <= 2.1 * once);
    CHECK(taken(8000) <= 8.4 * once);
  }
}

// A connection or a disk may truncate texts anywhere.
TEST_CASE("every prefix of every sample yields a document or an error") {
  for (const auto& each : all_samples())
    for (std::size_t bytes = 0; bytes <= each.text.size(); ++bytes) {
      INFO(each.story << ", " << bytes << " bytes");
      ends_soon(each.text.substr(0, bytes));
    }
}

TEST_CASE("samples with changed bytes yield a document or an error") {
  seeded_random chance(1);
  const auto all = all_samples();
  std::size_t documents = 0, errors = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text(all[chance.below(all.size())].text);
    const std::string_view other = all[chance.below(all.size())].text;
    for (auto changes = 1 + chance.below(3); changes > 0; --changes) {
      const auto at = static_cast<std::size_t>(chance.below(text.size() + 1));
      switch (chance.below(4)) {
      case 0:
        text.insert(at, 1, static_cast<char>(static_cast<unsigned char>(chance.below(256))));
        break;
      case 1:
        text.erase(at, chance.below(4));
        break;
      case 2:
        text.insert(at, other);
        break;
      default:
        text.insert(at, 1, "{}[]\"=,:<\n\\$#/*-.0e"[chance.below(20)]);
      }
    }
    INFO(dumped(text));
    ends_soon(text);
    ++(parsed(text).starts_with('!') ? errors : documents);
  }
  CHECK(documents > 2000);
  CHECK(errors > 2000);
}

TEST_CASE("random bytes yield a document or an error") {
  seeded_random chance(2);
  for (int round = 0; round < 5000; ++round) {
    std::string text(chance.below(200), ' ');
    for (char& c : text)
      c = static_cast<char>(static_cast<unsigned char>(chance.below(256)));
    ends_soon(text);
    ends_soon("{" + text);
    ends_soon("a = <<E\n" + text);
  }
}
