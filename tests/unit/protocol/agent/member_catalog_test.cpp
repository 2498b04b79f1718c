// What the leader writes about the members, given the state of the catalog.

#include "protocol/agent/member_catalog.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::agent;

namespace {

cluster_member member(std::optional<bool> alive, std::string uuid = "id-a", std::string name = "a") {
  return member_of(std::move(uuid), std::move(name), "10.0.0.1:8300", alive);
}

/// Applies that registration to the rows.
void apply(member_rows& rows, const state::catalog_register& r) {
  auto node = std::make_shared<const state::node_record>(r.node);
  rows.nodes.push_back(node);
  state::instance_checks::list checks;
  for (const auto& c : r.checks)
    checks.push_back(std::make_shared<const state::check_record>(c));
  rows.instances.push_back(
      {node, std::make_shared<const state::service_record>(*r.service), {nullptr, std::move(checks)}});
}

member_rows rows_of(const std::vector<cluster_member>& members) {
  member_rows rows;
  for (const auto& m : members)
    apply(rows, registration_of(m, "dc1"));
  return rows;
}

template <class T>
T only(const std::vector<state::command>& changes) {
  REQUIRE(changes.size() == 1);
  REQUIRE(std::holds_alternative<T>(changes[0]));
  return std::get<T>(changes[0]);
}

} // namespace

TEST_CASE("a member that is not in the catalog is registered with service and check", "[member_catalog]") {
  const auto r = only<state::catalog_register>(member_changes({member(true)}, {}, "dc1"));
  CHECK(r.node.node == "a");
  CHECK(r.node.id == "id-a");
  CHECK(r.node.address == "10.0.0.1");
  CHECK(r.skip_node_update); // its agent may have been faster
  CHECK(r.service->id == "consul");
  CHECK(r.service->port == 8300);
  CHECK(r.checks.at(0).check_id == "serfHealth");
  CHECK(r.checks.at(0).status == "passing");
  CHECK(r.checks.at(0).output == "Agent alive and reachable");
}

TEST_CASE("a member has tagged addresses of the family of its address", "[member_catalog]") {
  using addresses = state::string_map;
  CHECK(node_of(member_of("id", "a", "10.0.0.1:8300", true), "dc1").tagged_addresses ==
        addresses{{"lan", "10.0.0.1"}, {"lan_ipv4", "10.0.0.1"}, {"wan", "10.0.0.1"}, {"wan_ipv4", "10.0.0.1"}});
  CHECK(node_of(member_of("id", "a", "fd00::1:8300", true), "dc1").tagged_addresses ==
        addresses{{"lan", "fd00::1"}, {"lan_ipv6", "fd00::1"}, {"wan", "fd00::1"}, {"wan_ipv6", "fd00::1"}});
}

TEST_CASE("rows that equal the catalog are not written again", "[member_catalog]") {
  // A leader that rewrote everything would wake every health query with each election.
  const auto alive = GENERATE(true, false);
  CHECK(member_changes({member(alive)}, rows_of({member(alive)}), "dc1").empty());
}

TEST_CASE("members that have not been heard yet stay unchanged", "[member_catalog]") {
  // A new leader must not mark a dead member alive until the next timeout.
  CHECK(member_changes({member(std::nullopt)}, {}, "dc1").empty());
  CHECK(member_changes({member(std::nullopt)}, rows_of({member(false)}), "dc1").empty());
  CHECK(member_changes({member(std::nullopt)}, rows_of({member(true)}), "dc1").empty());
}

TEST_CASE("a change of health is written, and the node's own data stays", "[member_catalog]") {
  const auto now = GENERATE(true, false);
  auto rows = rows_of({member(!now)});
  auto node = *rows.nodes[0];
  node.meta = state::string_map{{"rack", "7"}};
  rows.nodes[0] = rows.instances[0].node = std::make_shared<const state::node_record>(node);
  const auto r = only<state::catalog_register>(member_changes({member(now)}, rows, "dc1"));
  CHECK(r.checks.at(0).status == (now ? "passing" : "critical"));
  CHECK(r.checks.at(0).output == (now ? "Agent alive and reachable" : "Agent not live or unreachable"));
  CHECK(r.skip_node_update);
}

TEST_CASE("a member at another address is written with its node", "[member_catalog]") {
  auto rows = rows_of({member(true)});
  const auto moved = member_of("id-a", "a", "10.0.0.9:8300", true);
  const auto r = only<state::catalog_register>(member_changes({moved}, rows, "dc1"));
  CHECK(r.node.address == "10.0.0.9");
  CHECK(r.node.meta == rows.nodes[0]->meta);
  CHECK_FALSE(r.skip_node_update);
  const auto elsewhere = member_of("id-a", "a", "10.0.0.1:8400", true);
  CHECK(only<state::catalog_register>(member_changes({elsewhere}, rows, "dc1")).service->port == 8400);
}

TEST_CASE("a server that is no longer a member is removed", "[member_catalog]") {
  const auto b = member(true, "id-b", "b");
  const auto gone = only<state::catalog_deregister>(member_changes({member(true)}, rows_of({member(true), b}), "dc1"));
  CHECK(gone.node == "b");
  CHECK(gone.service_id.empty());
  CHECK(gone.check_id.empty());
}

TEST_CASE("a server that returned without its disk replaces itself", "[member_catalog]") {
  // Same name, another node ID: the old node is removed first, or the name would be taken.
  const auto changes = member_changes({member(true, "id-new")}, rows_of({member(true, "id-old")}), "dc1");
  REQUIRE(changes.size() == 2);
  CHECK(std::get<state::catalog_deregister>(changes[0]).node == "a");
  CHECK(std::get<state::catalog_register>(changes[1]).node.id == "id-new");
  CHECK_FALSE(std::get<state::catalog_register>(changes[1]).skip_node_update);
  // Even while the new one has not been heard from.
  only<state::catalog_deregister>(
      member_changes({member(std::nullopt, "id-new")}, rows_of({member(true, "id-old")}), "dc1"));
}

TEST_CASE("a dead member does not take the name from the server that replaces it", "[member_catalog]") {
  // Both are members until the new one has caught up.
  const auto old = member(false, "id-old"), fresh = member(true, "id-new");
  CHECK(member_changes({old, fresh}, rows_of({fresh}), "dc1").empty());
  const auto r = only<state::catalog_register>(member_changes({old, fresh}, rows_of({old}), "dc1"));
  CHECK(r.node.id == "id-new");
  CHECK_FALSE(r.skip_node_update);
  CHECK(member_changes({old, member(std::nullopt, "id-new")}, rows_of({old}), "dc1").empty());
}

TEST_CASE("a member that was renamed keeps its node ID and is not removed first", "[member_catalog]") {
  const auto r =
      only<state::catalog_register>(member_changes({member(true, "id-a", "new")}, rows_of({member(true)}), "dc1"));
  CHECK(r.node.node == "new");
  CHECK(r.skip_node_update); // there is none with that name: the catalog renames it
}

TEST_CASE("nodes that clients registered are not members, and stay", "[member_catalog]") {
  auto rows = rows_of({member(true), member(true, "id-x", "x"), member(true, "id-y", "y")});
  auto other = *rows.instances[1].service;
  other.id = "consul-of-theirs";
  rows.instances[1].service = std::make_shared<const state::service_record>(other);
  rows.instances[2].checks = {};
  CHECK(member_changes({member(true)}, rows, "dc1").empty());
}
