// Translates rules from the old syntax to the new one.

#include "protocol/acl/legacy_rules.hpp"
#include "tests/unit/protocol/acl/documents.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::acl;

namespace {

std::string translated(std::vector<hcl::item> items) {
  const auto r = translate_legacy({std::move(items)});
  REQUIRE(r);
  return *r;
}

/// { policy = "...", intentions = "..." }, on one line or on two.
hcl::value service_body(std::uint32_t second_line) {
  return block({item({"policy"}, text("write"), at(2, 3)), item({"intentions"}, text("read"), at(second_line, 3))});
}

} // namespace

TEST_CASE("each word becomes that of its prefix") {
  struct line {
    const char* before;
    const char* after;
  };
  for (const auto& l : {
           line{"agent", "agent_prefix"},
           line{"event", "event_prefix"},
           line{"key", "key_prefix"},
           line{"node", "node_prefix"},
           line{"query", "query_prefix"},
           line{"service", "service_prefix"},
           line{"session", "session_prefix"},
           line{"key_prefix", "key_prefix"}, // already in the new syntax
           line{"Key", "Key"},
           line{"sentinel", "sentinel"},
       })
    CHECK(translated({item({l.before, "foo/"}, policy("read"))}) ==
          std::string(l.after) + " \"foo/\" {\n  policy = \"read\"\n}");
}

TEST_CASE("a whole policy, as Consul prints it") {
  CHECK(translated({item({"agent", ""}, policy("write")), item({"key", "a"}, policy("deny")),
                    item({"keyring"}, text("write"), at(8, 1)), item({"operator"}, text("read"), at(9, 1))}) ==
        R"(agent_prefix "" {
  policy = "write"
}

key_prefix "a" {
  policy = "deny"
}

keyring = "write"

operator = "read")");
  CHECK(translated({}).empty());
}

TEST_CASE("names are not words") {
  // Rules for the keys "key" and "policy", as JSON. Translating every `key` would make other keys
  // of them.
  const auto before = item(
      {"key"}, block({item({""}, policy("read")), item({"key"}, policy("read")), item({"policy"}, policy("deny"))}));
  const char* after = R"(key_prefix "" {
  policy = "read"
}

key_prefix "key" {
  policy = "read"
}

key_prefix "policy" {
  policy = "deny"
})";
  CHECK(translated({before}) == after);
  CHECK(translated({item({"key", ""}, policy("read")), item({"key", "key"}, policy("read")),
                    item({"key", "policy"}, policy("deny"))}) == after);
}

TEST_CASE("values of adjacent lines are aligned") {
  CHECK(translated({item({"service", "s"}, service_body(3))}) == R"(service_prefix "s" {
  policy     = "write"
  intentions = "read"
})");
  CHECK(translated({item({"service", "s"}, service_body(4))}) == R"(service_prefix "s" {
  policy = "write"

  intentions = "read"
})");
  CHECK(translated({item({"service", "s"}, service_body(2))}) == R"(service_prefix "s" {
  policy = "write"

  intentions = "read"
})");
  CHECK(translated({item({"x"}, block({item({"a"}, text("1"), at(2, 1)), item({"bb"}, text("2"), at(3, 1)),
                                       item({"c"}, block({item({"d"}, text("3"))}), at(4, 1))}))}) == R"(x {
  a  = "1"
  bb = "2"

  c {
    d = "3"
  }
})");
}

TEST_CASE("values of every type, and names that need quotes") {
  const auto value = [](hcl::value v) { return translated({item({"x"}, std::move(v))}); };
  CHECK(value({at(1, 1), true}) == "x = true");
  CHECK(value({at(1, 1), false}) == "x = false");
  CHECK(value({at(1, 1), hcl::number{"0x1f", true}}) == "x = 0x1f");
  CHECK(value({at(1, 1), hcl::number{"1.5e3", false}}) == "x = 1.5e3");
  CHECK(value(text("a \"b\"\n\\")) == R"(x = "a \"b\"\n\\")");
  CHECK(value(list_of({})) == "x = []");
  CHECK(value(list_of({text("a"), text("b")})) == R"(x = ["a", "b"])");
  CHECK(value(list_of({text("a", at(2, 3)), text("b", at(3, 3))})) == "x = [\n  \"a\",\n  \"b\",\n]");
  CHECK(value(block({})) == "x {}");
  struct line {
    const char* name;
    const char* printed;
  };
  for (const auto& l : {line{"a_b-c.d9", "a_b-c.d9"}, line{"", R"("")"}, line{"9a", R"("9a")"}, line{"a/b", R"("a/b")"},
                        line{"true", R"("true")"}, line{"_", "_"}, line{"é", R"("é")"}})
    CHECK(translated({item({l.name}, text("1"))}) == std::string(l.printed) + " = \"1\"");
}

TEST_CASE("nesting is bounded") {
  // Each nested value takes a level of recursion: a client's document must not decide how many.
  const auto nested = [](std::size_t levels) {
    hcl::value v = text("x");
    for (std::size_t i = 0; i < levels; ++i)
      v = i % 2 ? block({item({"a"}, std::move(v))}) : list_of({std::move(v)});
    return translate_legacy({{item({"x"}, std::move(v))}});
  };
  CHECK(nested(legacy_nesting_max - 1));
  REQUIRE(!nested(legacy_nesting_max));
  CHECK(nested(legacy_nesting_max).error() == "Failed to parse rules: nested deeper than 64 levels");
  // Adjacent rules are not nested.
  CHECK(translate_legacy({std::vector<hcl::item>(200, item({"key", "a"}, policy("read")))}));
}

// Each line was padded to the longest name: 60 KB of rules became 200 MB.
TEST_CASE("a very long name does not widen the other lines") {
  std::vector<hcl::item> items{item({std::string(500'000, 'a')}, text("read"), at(1, 1))};
  for (std::uint32_t line = 2; line < 10'000; ++line)
    items.push_back(item({"b"}, text("read"), at(line, 1)));
  CHECK(translated(std::move(items)).size() < 500'000 + 10'000 * 300);
}
