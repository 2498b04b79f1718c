// The cost of a lookup is proportional to the length of the name, not to the number of rules. Which
// rule it finds is tested in authorizer_test.cpp and model_test.cpp.

#include "protocol/acl/rule_tree.hpp"
#include "tests/harness/cpu_time.hpp"
#include "tests/unit/protocol/acl/documents.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::acl;
using belay::harness::holds_once;
using belay::harness::least_cpu_time;

namespace {

/// Policies like those of teams, with `rules_each` rules in each.
std::vector<rule> of_teams(std::size_t teams, std::size_t rules_each) {
  std::vector<rule> out;
  for (std::size_t t = 0; t < teams; ++t)
    for (std::size_t i = 0; i < rules_each; ++i) {
      const auto name = "team-" + std::to_string(t) + "/service-" + std::to_string(i) + "/";
      out.push_back(i % 5 ? key_prefix(name, permission::write) : key(name + "config", permission::read));
    }
  return out;
}

rule_tree compiled(const std::vector<rule>& all) {
  std::vector<const rule*> pointers;
  for (const auto& r : all)
    pointers.push_back(&r);
  return rule_tree(pointers);
}

std::size_t nodes_on_the_way(const rule_tree& tree, std::string_view name) {
  std::size_t count = 0;
  tree.walk(name, [&](const rule_tree::node&, bool) { ++count; });
  return count;
}

} // namespace

TEST_CASE("the lookup of a name takes no more steps than the name is long") {
  // 200 policies with 50 rules each, and a chain of rules, each a prefix of the next.
  const auto teams = compiled(of_teams(200, 50));
  std::size_t longest = 0;
  for (const std::string name : {"", "t", "team-7/service-7/x/y/z", "team-199/service-45/config", "other"}) {
    INFO(name);
    CHECK(nodes_on_the_way(teams, name) <= name.size() + 1);
    longest = std::max(longest, nodes_on_the_way(teams, name));
  }
  CHECK(longest <= 8); // team-, 199/service-, digits, the rest: most nodes cover more than a byte
  CHECK(teams.of("team-7/service-7/x/y/z") == permission::write);
  CHECK(teams.of("team-199/service-45/config") == permission::read);
  CHECK(teams.of("team-199/service-45/confi") == std::nullopt);

  std::vector<rule> chain;
  for (std::size_t n = 0; n <= 1000; ++n)
    chain.push_back(key_prefix(std::string(n, 'a'), n % 2 ? permission::read : permission::write));
  const auto deep = compiled(chain);
  CHECK(nodes_on_the_way(deep, std::string(1000, 'a')) == 1001);
  CHECK(nodes_on_the_way(deep, std::string(5000, 'a')) == 1001);
  CHECK(deep.of(std::string(777, 'a')) == permission::read);
  CHECK(deep.of(std::string(777, 'a') + "b") == permission::read);
  CHECK(deep.of(std::string(776, 'a') + "b") == permission::write);
}

TEST_CASE("a lookup costs about the same among 10,000 rules as among 100") {
  const auto few_rules = of_teams(2, 50), many_rules = of_teams(200, 50);
  const auto few = compiled(few_rules), many = compiled(many_rules);
  std::size_t found = 0;
  const auto lookups = [&](const rule_tree& tree) {
    return least_cpu_time([&] {
      for (std::size_t i = 0; i < 20000; ++i)
        found += tree.of(few_rules[i % few_rules.size()].name + "x").has_value();
    });
  };
  // A scan of all rules would take 100 times as long.
  CHECK(holds_once([&] { return lookups(many) < 15 * lookups(few); }));
  CHECK(found > 0);
}

TEST_CASE("deletes of a prefix ignore the rules below it") {
  const auto few = compiled(of_teams(2, 50)), many = compiled(of_teams(200, 50));
  std::size_t only_write = 0;
  const auto questions = [&](const rule_tree& tree) {
    return least_cpu_time([&] {
      for (std::size_t i = 0; i < 20000; ++i)
        only_write += tree.only_write_under("team-1/service-1") + tree.only_write_under("te");
    });
  };
  CHECK(holds_once([&] { return questions(many) < 15 * questions(few); }));
  CHECK(only_write == 0);
}

TEST_CASE("compiling costs in proportion to the rules, whatever their order") {
  // Names that begin alike, forwards and backwards, and children of one node with every byte.
  const auto begins_alike = [](std::size_t count) {
    std::vector<rule> out;
    for (std::size_t i = 0; i < count; ++i)
      out.push_back(key(std::string(100, 'a') + std::to_string(i), permission::read));
    return out;
  };
  // Both trees are too large for a core's caches, and both request their memory from the system.
  const auto few = begins_alike(2500), many = begins_alike(50000);
  const auto backwards = std::vector<rule>(many.rbegin(), many.rend());
  const auto time_of = [](const std::vector<rule>& rules) { return least_cpu_time([&] { compiled(rules); }); };
  // 20 times the rules; the square of that is 400.
  CHECK(holds_once([&] { return time_of(many) < 100 * time_of(few); }));
  CHECK(holds_once([&] { return time_of(backwards) < 100 * time_of(few); }));

  std::vector<rule> bytes;
  for (int b = 255; b >= 0; --b)
    bytes.push_back(key_prefix(std::string(1, static_cast<char>(b)), b % 2 ? permission::read : permission::write));
  const auto wide = compiled(bytes);
  for (int b = 0; b < 256; ++b)
    CHECK(wide.of(std::string(1, static_cast<char>(b)) + "x") == (b % 2 ? permission::read : permission::write));
}
