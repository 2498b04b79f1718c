// The list of operations after which servers are restarted: without its entry, a route, method or
// command would never be followed by a restart.

#include "protocol/http/routes.hpp"
#include "sim/clients/operation_kinds.hpp"

#include <catch2/catch.hpp>

#include <set>

namespace belay::sim {
namespace {

TEST_CASE("kinds of operations: every route and method has an example, or is left out for a reason") {
  std::set<std::string> with_example;
  for (const auto& kind : operation_kinds()) {
    INFO(kind.name);
    CHECK_FALSE(kind.steps.empty());
    with_example.insert(kind.name.substr(0, kind.name.find(" (")));
  }
  std::set<std::string> without;
  for (const auto& route : http::all_routes())
    for (const auto method : http::method_names_of(route))
      if (const auto name = std::string(method) + ' ' + std::string(route.pattern); !with_example.contains(name))
        without.insert(name);
  CHECK(without == std::set<std::string>{"GET /v1/agent/monitor", "PUT /v1/agent/leave"});
}

TEST_CASE("kinds of operations: names are distinct") {
  std::set<std::string> names;
  for (const auto& kind : operation_kinds()) {
    INFO(kind.name);
    CHECK(names.insert(kind.name).second);
  }
}

TEST_CASE("kinds of operations: commands have the names of their types") {
  const auto names = names_of_commands();
  REQUIRE(names.size() == std::variant_size_v<state::plain_command::plain>);
  CHECK(names.front() == "kv_write");
  CHECK(std::set(names.begin(), names.end()).size() == names.size());
  CHECK(names[state::plain_command(state::claims_alarm{}).index()] == "claims_alarm");
}

} // namespace
} // namespace belay::sim
