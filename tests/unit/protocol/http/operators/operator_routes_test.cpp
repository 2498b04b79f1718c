// Operators' requests about the servers (docs/contract/12).

#include "tests/unit/protocol/http/requested.hpp"

using namespace belay;
using namespace belay::http;

namespace {

constexpr auto configuration = "/v1/operator/autopilot/configuration";

std::string peer_requested(std::string_view target) {
  auto p = ask("DELETE", target);
  REQUIRE(std::holds_alternative<local_request>(p.action));
  const auto& r = std::get<local_request>(p.action);
  CHECK(r.kind == local_kind::remove_peer);
  return std::string(name_of(r.removed.by)) + " " + r.removed.name;
}

} // namespace

TEST_CASE("a server is removed by its id or by its address") {
  CHECK(peer_requested("/v1/operator/raft/peer?id=abc") == "id abc");
  CHECK(peer_requested("/v1/operator/raft/peer?address=127.0.0.1:8300") == "address 127.0.0.1:8300");
  const auto none = refusal_to("DELETE", "/v1/operator/raft/peer");
  CHECK(none.status == 400);
  CHECK(none.body ==
        "Bad request: Must specify either ?id with the server's ID or ?address with IP:port of peer to remove");
  const auto both = refusal_to("DELETE", "/v1/operator/raft/peer?id=a&address=b");
  CHECK(both.status == 400);
  CHECK(both.body == "Bad request: Must specify only one of ?id or ?address");
  CHECK(refusal_to("GET", "/v1/operator/raft/peer?id=a").status == 405);
}

TEST_CASE("a server is added by its id or by its address") {
  auto p = ask("PUT", "/v1/operator/raft/peer?address=10.0.0.4:8300");
  REQUIRE(std::holds_alternative<local_request>(p.action));
  CHECK(std::get<local_request>(p.action).kind == local_kind::add_peer);
  CHECK(std::get<local_request>(p.action).added.address == "10.0.0.4:8300");
  CHECK(std::get<local_request>(p.action).added.id.empty());
  p = ask("PUT", "/v1/operator/raft/peer?id=B31A9000-0000-4000-8000-000000000001"); // ids are kept in lower case
  REQUIRE(std::holds_alternative<local_request>(p.action));
  CHECK(std::get<local_request>(p.action).added.id == "b31a9000-0000-4000-8000-000000000001");
  CHECK(std::get<local_request>(p.action).added.address.empty());
  for (const auto* query : {"", "?id=", "?name=n4", "?address=10.0.0.4", "?address=10.0.0.4:x"}) {
    const auto r = refusal_to("PUT", std::string("/v1/operator/raft/peer") + query);
    CHECK(r.status == 400);
    CHECK(r.body ==
          "Bad request: Must specify either ?id with the server's ID or ?address with IP:port of peer to add");
  }
  CHECK(refusal_to("PUT", "/v1/operator/raft/peer?id=a&address=10.0.0.4:8300").body ==
        "Bad request: Must specify only one of ?id or ?address");
}

TEST_CASE("a PUT of autopilot's settings replaces all of them") {
  const auto set = written<state::autopilot_set>(
      "PUT", configuration,
      R"({"CleanupDeadServers":true,"LastContactThreshold":"1.5s","MaxTrailingLogs":9,"MinQuorum":3,)"
      R"("ServerStabilizationTime":5000000000,"RedundancyZoneTag":"z","DisableUpgradeMigration":true,)"
      R"("UpgradeVersionTag":"v","CreateIndex":4,"ModifyIndex":5})");
  CHECK(set.wanted.cleanup_dead_servers);
  CHECK(set.wanted.last_contact_threshold_ns == 1'500'000'000);
  CHECK(set.wanted.max_trailing_logs == 9);
  CHECK(set.wanted.min_quorum == 3);
  CHECK(set.wanted.server_stabilization_ns == 5'000'000'000);
  CHECK(set.wanted.redundancy_zone_tag == "z");
  CHECK(set.wanted.disable_upgrade_migration);
  CHECK(set.wanted.upgrade_version_tag == "v");
  CHECK_FALSE(set.check);
  const auto empty = written<state::autopilot_set>("PUT", std::string(configuration) + "?cas=0", "{}");
  CHECK_FALSE(empty.wanted.cleanup_dead_servers);
  CHECK(empty.wanted.last_contact_threshold_ns == 0);
  CHECK(empty.wanted.max_trailing_logs == 0);
  CHECK(empty.check == log_index{0});
}

TEST_CASE("autopilot: errors are reported in Consul's words") {
  const auto refused = [](std::string_view query, std::string_view body) {
    const auto r = refusal_to("PUT", std::string(configuration) + std::string(query), body);
    CHECK(r.status == 400);
    return r.body;
  };
  CHECK(refused("", "") == "Bad request: Error parsing autopilot config: EOF");
  CHECK(refused("", R"({"Bogus":1})") == R"(Bad request: Error parsing autopilot config: json: unknown field "Bogus")");
  CHECK(refused("", R"({"LastContactThreshold":"abc"})") ==
        R"(Bad request: Error parsing autopilot config: time: invalid duration "abc")");
  CHECK(refused("?cas=abc", "{}") ==
        R"(Bad request: Error parsing cas value: strconv.ParseUint: parsing "abc": invalid syntax)");
  CHECK(refused("", R"({"LastContactThreshold":true})") ==
        R"(Bad request: Error parsing autopilot config: strconv.ParseFloat: parsing "true": invalid syntax)");
  CHECK(refused("", R"({"ModifyIndex":"x"})").find("of type uint64") != std::string::npos);
  CHECK(refused("", R"({"MaxTrailingLogs":2.50})").find("number 2.50 into") != std::string::npos);
  CHECK(refused("", R"({"LastContactThreshold":""})").find(R"(invalid duration "")") != std::string::npos);
  // Errors in the request take precedence over the datacenter.
  CHECK(refused("?dc=nowhere", "{").find("Error parsing autopilot config") != std::string::npos);
  CHECK(refused("?dc=nowhere&cas=abc", "{}").find("Error parsing cas value") != std::string::npos);
  CHECK(refusal_to("PUT", std::string(configuration) + "?dc=nowhere", "{}").body == "No path to datacenter");
  CHECK(refusal_to("DELETE", "/v1/operator/raft/peer?dc=nowhere&id=a&address=b").status == 400);
  CHECK(refusal_to("DELETE", "/v1/operator/raft/peer?dc=nowhere&id=a").body == "No path to datacenter");
}

TEST_CASE("a snapshot accepts only the read mode stale") {
  for (const auto* ignored : {"?consistent", "?cached&consistent", "?max_stale=abc"})
    CHECK(std::get<snapshot_save>(ask("GET", std::string("/v1/snapshot") + ignored).action).stale == false);
  CHECK(std::get<snapshot_save>(ask("GET", "/v1/snapshot?stale&consistent").action).stale);
  const auto r = refusal_to("PUT", "/v1/snapshot?stale");
  CHECK(r.status == 500);
  CHECK(r.body == "stale not allowed for restore");
  CHECK(refusal_to("PUT", "/v1/snapshot?stale&dc=nowhere").body == "No path to datacenter");
}

TEST_CASE("autopilot's settings are shown without meta headers") {
  const auto requested = read_requested("GET", std::string(configuration) + "?stale");
  CHECK(requested.mode == consistency::stale);
  CHECK(requested.min_index == 0);
  const auto r = render_read(requested, {log_index{1}, std::make_shared<const state::autopilot_settings>()}, {}, {});
  CHECK(r.body == R"({"CleanupDeadServers":true,"LastContactThreshold":"200ms","MaxTrailingLogs":250,"MinQuorum":0,)"
                  R"("ServerStabilizationTime":"10s","RedundancyZoneTag":"","DisableUpgradeMigration":false,)"
                  R"("UpgradeVersionTag":"","CreateIndex":1,"ModifyIndex":1})");
  CHECK(header(r, "X-Consul-Index") == "(none)");
  CHECK(refusal_to("GET", std::string(configuration) + "?index=abc").status == 400);
}
