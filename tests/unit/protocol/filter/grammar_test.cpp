// Texts to trees and back; the errors for invalid texts.

#include "protocol/base/random.hpp"
#include "protocol/filter/grammar.hpp"

#include <catch2/catch.hpp>

#include <tuple>

using namespace belay;
using namespace belay::filter;

namespace {

expression parsed(std::string_view text) {
  INFO(text);
  auto e = parse(text);
  if (!e)
    INFO(e.error());
  REQUIRE(e);
  return std::move(e).value();
}

expression is(std::vector<std::string> selector, match_operator op, std::string value = {}) {
  return {node_kind::match, {std::move(selector), op, std::move(value)}, {}};
}

expression of(node_kind kind, std::vector<expression> parts) {
  return {kind, {}, std::move(parts)};
}

std::string complaint(std::string_view text) {
  INFO(text);
  const auto e = parse(text);
  REQUIRE(!e);
  return e.error();
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i)
    out += text;
  return out;
}

} // namespace

TEST_CASE("one comparison") {
  using op = match_operator;
  const std::vector<std::string> foo{"foo"};
  const std::vector<std::pair<std::string_view, expression>> table = {
      {"foo == 3", is(foo, op::equal, "3")},
      {"foo==3", is(foo, op::equal, "3")},
      {"foo != xyz", is(foo, op::not_equal, "xyz")},
      {"foo is empty", is(foo, op::is_empty)},
      {"foo is not empty", is(foo, op::is_not_empty)},
      {"bar in foo", is(foo, op::in, "bar")},
      {"bar not in foo", is(foo, op::not_in, "bar")},
      {"foo contains bar", is(foo, op::in, "bar")},
      {"foo not contains bar", is(foo, op::not_in, "bar")},
      {"foo matches bar", is(foo, op::matches, "bar")},
      {"foo not matches bar", is(foo, op::not_matches, "bar")},
      {R"(foo == "bar")", is(foo, op::equal, "bar")},
      {"foo == `b\"ar\\n`", is(foo, op::equal, "b\"ar\\n")},
      {R"("a b" in foo)", is(foo, op::in, "a b")},
      {R"(foo == "a\tb\x41\u00e9\101")", is(foo, op::equal,
                                            "a\tbA\xC3\xA9"
                                            "A")},
      {"foo == \"\"", is(foo, op::equal, "")},
      {"foo == 0.2", is(foo, op::equal, "0.2")},
      {"foo == -11.11", is(foo, op::equal, "-11.11")},
      {"foo == a.b", is(foo, op::equal, "a.b")},
      {"\t\r\n foo \t\n not \r in \t x \n", is({"x"}, op::not_in, "foo")},
      {"\t(\r\n foo ==\tx )\n", is(foo, op::equal, "x")},
      {"env in foo.bar[\"meta\"].tags[\t`a-b c` ]", is({"foo", "bar", "meta", "tags", "a-b c"}, op::in, "env")},
      {"foo[\"\"] == 1", is({"foo", ""}, op::equal, "1")},
      {"not == 3", is({"not"}, op::equal, "3")},
      {"and != or", is({"and"}, op::not_equal, "or")},
      {"is is empty", is({"is"}, op::is_empty)},
  };
  for (const auto& [text, tree] : table) {
    INFO(text);
    CHECK(parsed(text) == tree);
  }
}

TEST_CASE("not binds closer than and, and closer than or") {
  using op = match_operator;
  const auto a = is({"a"}, op::equal, "1"), b = is({"b"}, op::equal, "2"), c = is({"c"}, op::equal, "3");
  const auto all = node_kind::all, any = node_kind::any, negation = node_kind::negation;
  const std::vector<std::pair<std::string_view, expression>> table = {
      {"a == 1 or b == 2 and c == 3", of(any, {a, of(all, {b, c})})},
      {"a == 1 and b == 2 or c == 3", of(any, {of(all, {a, b}), c})},
      {"(a == 1 or b == 2) and c == 3", of(all, {of(any, {a, b}), c})},
      {"(a == 1) or (b == 2)", of(any, {a, b})},
      {"not a == 1 and b == 2", of(all, {of(negation, {a}), b})},
      {"not (a == 1 and b == 2)", of(negation, {of(all, {a, b})})},
      {"a == 1 or not b == 2 or c == 3", of(any, {a, of(negation, {b}), c})},
      {"not not a == 1", a},
      {"not not not a == 1", of(negation, {a})},
      {"not (not a == 1)", a},
      {"not not == 1", of(negation, {is({"not"}, op::equal, "1")})},
      {"a == 1 and (b == 2 and c == 3)", of(all, {a, of(all, {b, c})})},
      {"((((a == 1))))", a},
  };
  for (const auto& [text, tree] : table) {
    INFO(text);
    CHECK(parsed(text) == tree);
  }
}

// The texts are those of go-bexpr 0.1.2, which Consul 1.8 returns to its clients.
TEST_CASE("complaints are go-bexpr's") {
  const std::string start = R"("(", "-", "0", "\"", "`", "not", [ \t\r\n], [1-9] or [a-zA-Z])";
  const std::vector<std::pair<std::string_view, std::string>> table = {
      {"foo == \"12x", "1:12 (11): rule \"string\": Unterminated string literal"},
      {"foo == `12x", "1:12 (11): rule \"string\": Unterminated string literal"},
      {"foo == 3x", "1:9 (8): rule \"number\": Invalid number literal"},
      {"foo == \"\\q\"", "1:8 (7): rule \"string\": invalid syntax"},
      {"foo[3] == abc", "1:5 (4): rule \"index\": Invalid index"},
      {"x in foo[\"abc\"", "1:15 (14): rule \"index\": Unclosed index expression"},
      {"foo[\"abc\" == 3", "1:11 (10): rule \"index\": Unclosed index expression"},
      {"x in 32", "1:6 (5): rule \"match\": Invalid selector"},
      {"32 == 32", R"(1:4 (3): no match found, expected: "in", "not" or [ \t\r\n])"},
      {"32 is empty", R"(1:4 (3): no match found, expected: "in", "not" or [ \t\r\n])"},
      {"x in foo abc", R"(1:10 (9): no match found, expected: "and", "or", [ \t\r\n] or EOF)"},
      {"x in foo and ", "1:14 (13): no match found, expected: " + start},
      {"x in foo or ", "1:13 (12): no match found, expected: " + start},
      {"x in foo or not ",
       R"(1:17 (16): no match found, expected: "!=", "(", "-", "0", "==", "\"", "`", "contains", "in", "is", )"
       R"("matches", "not", [ \t\r\n], [1-9] or [a-zA-Z])"},
      {"(foo == 4", "1:10 (9): rule \"grouping\": Unmatched parentheses"},
      {"Node==host-name", R"(1:11 (10): no match found, expected: ".", "[", [ \t\r\n], [a-zA-Z0-9_] or EOF)"},
      {"", "1:1 (0): no match found, expected: " + start},
      {"a == 1\n\xC3\xA9", R"(2:1 (7): no match found, expected: "and", "or", [ \t\r\n] or EOF)"},
  };
  for (const auto& [text, response] : table) {
    INFO(text);
    CHECK(complaint(text) == response);
  }
}

TEST_CASE("the cost of one request is bounded") {
  CHECK(parse(repeated("(", nesting_max) + "a == 1" + repeated(")", nesting_max)));
  for (const auto depth : {nesting_max + 1, std::size_t{10'000}}) {
    CHECK(complaint(repeated("(", depth) + "a == 1" + repeated(")", depth)) ==
          "expression is nested deeper than 64 levels");
    CHECK(complaint(repeated("not (", depth)) == "expression is nested deeper than 64 levels");
  }
  // Neither long chains of operators nor of "not" need the stack.
  CHECK(parse("a == 1" + repeated(" or a == 1", comparisons_max - 1)));
  CHECK(complaint("a == 1" + repeated(" and a == 1", comparisons_max)) == "expression has more than 1024 comparisons");
  CHECK(parsed(repeated("not ", 10'000) + "a == 1") == parsed("a == 1"));
  CHECK(complaint("a" + repeated(".a", text_bytes_max)) == "expression is longer than 65536 bytes");
  CHECK(complaint("a == \"\xFF\"") == "invalid encoding at offset 6");
}

// Alternatives that both parse the parentheses would double the work at every level.
TEST_CASE("rejecting nested parentheses takes hardly any time") {
  CHECK(complaint(repeated("(", nesting_max) + "a == ") != "");
  CHECK(complaint(repeated("(", nesting_max) + "a == 1") != "");
  CHECK(complaint(repeated("(not ", nesting_max) + "a" + repeated(")", nesting_max)) != "");
}

namespace {

std::string some_text(seeded_random& random) {
  static const std::string_view pieces[] = {"a",  "b-c", "\"",       "`",    "\\", "\n",
                                            "\t", " ",   "\xC3\xA9", "\xFF", "7",  "not"};
  std::string out;
  for (auto n = random.below(4); n > 0; --n)
    out += pieces[random.below(std::size(pieces))];
  return out;
}

expression some_expression(seeded_random& random, int depth) {
  if (depth == 0 || random.below(3) == 0) {
    static const std::string_view names[] = {"Node", "is", "in", "and", "a_1", "Meta"};
    expression e;
    e.match.selector.emplace_back(names[random.below(std::size(names))]);
    for (auto n = random.below(3); n > 0; --n)
      e.match.selector.push_back(some_text(random));
    e.match.op = static_cast<match_operator>(random.below(8));
    if (takes_value(e.match.op))
      e.match.value = some_text(random);
    return e;
  }
  expression e;
  e.kind = static_cast<node_kind>(1 + random.below(3));
  const std::size_t parts = e.kind == node_kind::negation ? 1 : 2 + random.below(3);
  while (e.parts.size() < parts) {
    auto part = some_expression(random, depth - 1);
    if (e.kind == node_kind::negation && part.kind == node_kind::negation)
      part = std::move(part.parts.front());
    e.parts.push_back(std::move(part));
  }
  return e;
}

} // namespace

TEST_CASE("a tree that is written down and read is the same") {
  seeded_random random(71);
  for (int i = 0; i < 3000; ++i) {
    const auto e = some_expression(random, 4);
    const auto text = to_string(e);
    INFO(text);
    CHECK(parsed(text) == e);
  }
}

// Pieces of the language in any order: each text is rejected, or is a tree that can be printed.
TEST_CASE("any text is parsed or rejected") {
  static const std::string_view pieces[] = {
      "a",  "not", "and", "or",  "in", "contains", "matches", "is", "empty", "==", "!=", "(", ")",    "[",       "]",
      "\"", "`",   ".",   "3.5", "-",  " ",        " ",       " ",  " ",     "\n", "\\", "x", "\xFF", "\xC3\xA9"};
  seeded_random random(72);
  std::size_t understood = 0, refused = 0;
  const auto look_at = [&](const std::string& text) {
    INFO(text);
    const auto e = parse(text);
    if (!e) {
      ++refused;
      CHECK(!e.error().empty());
      return;
    }
    ++understood;
    CHECK(parsed(to_string(*e)) == *e);
  };
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (auto n = random.below(12); n > 0; --n)
      text += pieces[random.below(std::size(pieces))];
    look_at(text);
  }
  // Close to the language: a valid text with one byte changed, removed or doubled.
  for (int i = 0; i < 5000; ++i) {
    auto text = to_string(some_expression(random, 2));
    const auto at = random.below(text.size());
    switch (random.below(3)) {
    case 0:
      text[at] = static_cast<char>(random.below(256));
      break;
    case 1:
      text.erase(at, 1);
      break;
    default:
      text.insert(at, 1, text[at]);
    }
    look_at(text);
  }
  CHECK(understood > 100);
  CHECK(refused > 100);
}
