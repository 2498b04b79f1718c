#include "tests/unit/protocol/state/driver.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::state;

TEST_CASE("set_and_get: the written row is read, with its indexes") {
  driver d;
  CHECK(d.get("a") == nullptr);
  CHECK(d.set("a", "one", 7));
  auto e = d.get("a");
  REQUIRE(e);
  CHECK(*e->value == "one");
  CHECK(e->flags == 7);
  CHECK(e->create_index == log_index{1});
  CHECK(e->modify_index == log_index{1});
  CHECK(d.set("a", "two"));
  e = d.get("a");
  CHECK(*e->value == "two");
  CHECK(e->flags == 0); // a put without flags resets them
  CHECK(e->create_index == log_index{1});
  CHECK(e->modify_index == log_index{2});
}

TEST_CASE("identical_write_changes_nothing (C7)") {
  driver d;
  d.set("a", "v", 3);
  const auto digest = d.m.digest();
  CHECK(d.set("a", "v", 3));
  CHECK(d.changed.empty());
  CHECK(d.get("a")->modify_index == log_index{1});
  CHECK(d.m.digest() == digest);
  CHECK(d.set("a", "v", 4));
  CHECK(d.get("a")->modify_index == log_index{3});
}

TEST_CASE("cas table: which write succeeds at which index") {
  struct row {
    const char* name;
    bool exists;
    std::uint64_t index;
    bool written;
  };
  const row rows[] = {
      {"create only, missing", false, 0, true},  {"create only, exists", true, 0, false},
      {"index given, missing", false, 5, false}, {"index given, matches", true, 1, true},
      {"index given, stale", true, 9, false},
  };
  for (const auto& r : rows) {
    INFO(r.name);
    driver d;
    if (r.exists)
      d.set("k", "old");
    CHECK(d.cas("k", log_index{r.index}, "new") == r.written);
    CHECK((d.get("k") != nullptr && *d.get("k")->value == "new") == r.written);
    CHECK(d.changed.empty() == !r.written);
  }
}

TEST_CASE("cas that writes the same value answers true and moves nothing") {
  driver d;
  d.set("k", "same");
  CHECK(d.cas("k", log_index{1}, "same"));
  CHECK(d.get("k")->modify_index == log_index{1});
}

TEST_CASE("delete_cas table: a missing key is deleted whatever the index (C8)") {
  struct row {
    const char* name;
    bool exists;
    std::uint64_t index;
    bool answer, left;
  };
  const row rows[] = {
      {"missing, zero", false, 0, true, false},  {"missing, any", false, 12345, true, false},
      {"exists, zero", true, 0, false, true},    {"exists, stale", true, 9, false, true},
      {"exists, matches", true, 1, true, false},
  };
  for (const auto& r : rows) {
    INFO(r.name);
    driver d;
    if (r.exists)
      d.set("k");
    CHECK(d.remove_cas("k", log_index{r.index}) == r.answer);
    CHECK((d.get("k") != nullptr) == r.left);
  }
}

TEST_CASE("delete_tree removes what starts with the prefix and nothing else") {
  driver d;
  for (const auto* k : {"s", "s/a", "s/b/c", "sx", "r", "t"})
    d.set(k);
  CHECK(d.remove_tree("s/"));
  CHECK(d.keys("") == std::vector<std::string>{"r", "s", "sx", "t"});
  REQUIRE(d.changed.size() == 1);
  CHECK(std::get<kv_tree_removed>(d.changed[0]).prefix == "s/");
  CHECK(d.remove_tree("none"));
  CHECK(d.changed.empty());
  CHECK(d.remove_tree(""));
  CHECK(d.m.key_count() == 0);
}

TEST_CASE("keys are ordered as unsigned bytes, and a prefix of 0xff bytes is one like any other") {
  driver d;
  const std::string high("\xff\xff", 2), higher("\xff\xff\x01", 3), nul("a\0b", 3);
  for (const auto& k : {high, std::string("a"), nul, higher, std::string("B"), std::string("\x80")})
    d.set(k);
  CHECK(d.keys("") == std::vector<std::string>{"B", "a", nul, "\x80", high, higher});
  CHECK(d.keys(high) == std::vector<std::string>{high, higher});
  CHECK(d.keys("", "\xff") == std::vector<std::string>{"B", "a", nul, "\x80", "\xff"});
  CHECK(d.remove_tree(high));
  CHECK(d.m.key_count() == 4);
}

TEST_CASE("separator table: the examples of the contract") {
  driver d;
  for (const auto* k : {"s", "s/a", "s/b/", "s/b/1", "s/b/2", "s/c/d/e", "s/z--1--2", "sx"})
    d.set(k);
  using names = std::vector<std::string>;
  CHECK(d.keys("s/", "/") == names{"s/a", "s/b/", "s/c/", "s/z--1--2"});
  CHECK(d.keys("s", "/") == names{"s", "s/", "sx"});
  CHECK(d.keys("s/b", "/") == names{"s/b/"});
  CHECK(d.keys("s/", "b") == names{"s/a", "s/b", "s/c/d/e", "s/z--1--2"});
  CHECK(d.keys("s/", "--") == names{"s/a", "s/b/", "s/b/1", "s/b/2", "s/c/d/e", "s/z--"});
  CHECK(d.keys("s/", "") == names{"s/a", "s/b/", "s/b/1", "s/b/2", "s/c/d/e", "s/z--1--2"});
  CHECK(d.keys("nothing", "/").empty());
}

TEST_CASE("an empty key is refused except for a recursive delete") {
  driver d;
  CHECK(d.refused(d.write(kv_verb::set, "")) == "Must provide key");
  CHECK(std::get<bool>(d.write(kv_verb::remove_tree, "")));
}
