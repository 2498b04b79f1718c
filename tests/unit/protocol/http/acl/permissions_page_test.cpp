// docs/reference/permissions.md is the table of routes. BELAY_REWRITE=1 writes it; git diff is the review: it
// shows which requests need less permission than before.

#include "protocol/http/routes.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

using namespace belay;
using namespace belay::http;

namespace {

constexpr auto page_begin = R"(# What each request needs

A test generates this page: `BELAY_REWRITE=1 build/dev/test_http` writes it from the table of routes and the rules in
`tests/unit/protocol/http/acl/permissions_page_test.cpp`.

This applies if `acl.enabled` is true.
`key:write` means that a policy of the token has a rule `key` or `key_prefix` with the policy `write` for that name.
[contract/10-acl.md](../contract/10-acl.md), section 2, explains which rule counts, and section 3 has the errors.

- A request that needs nothing works with any token, even with one that the server does not know.
- "Any valid token" includes the anonymous one, which applies to requests without a token.
- Reads that return several rows leave out those that the token may not read.
  "Of each" marks them.
- A write with `?fence=` also needs `key:read` of the lock or claim of the fencing token.
- A rule for `session`, `node` or `agent` has the name of a node.
  "This node" is the one that receives the request.

| path | method | needs |
|---|---|---|
)";

std::string_view rule_of(http::access a) {
  switch (a) {
  case http::access::unrestricted:
    return "nothing";
  case http::access::agent_read:
    return "`agent:read` of this node";
  case http::access::agent_write:
    return "`agent:write` of this node";
  case http::access::node_write:
    return "`node:write` of this node";
  case http::access::operator_read:
    return "`operator:read`";
  case http::access::operator_write:
    return "`operator:write`";
  case http::access::keyring_read:
    return "`keyring:read`";
  case http::access::keyring_write:
    return "`keyring:write`";
  case http::access::acl_read:
    return "`acl:read`";
  case http::access::acl_write:
    return "`acl:write`";
  case http::access::coordinate_write:
    return "`node:write` of the node in the body";
  case http::access::members:
    return "`node:read` of each member";
  case http::access::by_state:
  case http::access::by_agent:
    break; // depends on the request: rules_by_request
  }
  return "?";
}

/// The permissions of a route where they depend on the request (access::by_state,
/// access::by_agent).
struct request_rule {
  std::string_view pattern;
  std::string_view methods; ///< separated by blanks
  std::string_view needs;
};

constexpr auto reads_keys =
    "`key:read` of the key; with `?recurse`, `?keys` or `?changes`, of each key. With `acl.enable_key_list_policy`, "
    "these also need `key:list` of the prefix";
constexpr auto deletes_keys =
    "`key:write` of the key; with `?recurse`, of the prefix and of everything under it (contract/10-acl.md, section 4)";
constexpr auto registers = "`node:write` of the node if it is new or changes; `service:write` of the service, and of "
                           "the one that it replaces; "
                           "for a check, `service:write` of its service or `node:write` of its node";
constexpr auto deregisters =
    "`node:write` of the node, or `service:write` of the service, or of the service of the check";
constexpr auto transacts =
    "for each operation: `key:write` of the key to write it, or for `check-not-exists`; `key:read` of the key for "
    "`check-index` and `check-session`; `key:read` of the lock or claim for `check-fence`; for nodes, services and "
    "checks "
    "what `/v1/catalog/register` needs. `get` and `get-tree` return only rows that the token may read";
constexpr auto reads_instances = "`node:read` of each node and `service:read` of the service";
constexpr auto reads_node_services = "`node:read` of the node and `service:read` of each service";
constexpr auto reads_checks = "`node:read` of each node and, for checks of services, `service:read` of each service";
constexpr auto reads_policies = "`acl:read`";
constexpr auto reads_secrets = "`acl:read`; without `acl:write` secrets are hidden";
constexpr auto changes_check =
    "`service:write` of the check's service, or `node:write` of this node for a node's check";
constexpr auto changes_service = "`service:write` of the service";
constexpr auto reads_service = "`service:read` of the service";

constexpr request_rule rules_by_request[] = {
    {"/v1/kv/", "GET", reads_keys},
    {"/v1/kv/", "PUT", "`key:write` of the key"},
    {"/v1/kv/", "DELETE", deletes_keys},
    {"/v1/txn", "PUT", transacts},
    {"/v1/session/create", "PUT", "`session:write` of its node; for `OnEnd`, also `key:write` of its keys"},
    {"/v1/session/destroy/", "PUT", "`session:write` of the session's node"},
    {"/v1/session/renew/", "PUT", "`session:write` of the session's node"},
    {"/v1/session/renew", "PUT", "`session:write` of the node of each session in the body; all or none"},
    {"/v1/session/ended/", "GET", "`session:read` of the session's node; `key:read` of each released name"},
    {"/v1/session/info/", "GET", "`session:read` of the session's node"},
    {"/v1/session/node/", "GET", "`session:read` of the node"},
    {"/v1/session/list", "GET", "`session:read` of the node of each session"},
    {"/v1/claim/", "GET", "`key:read` of the claim's name"},
    {"/v1/claim/", "PUT DELETE", "`key:write` of the claim's name"},
    {"/v1/claims", "GET", "`key:read` of each claim's name"},
    {"/v1/claims/graph", "GET",
     "`key:read` of each name and `session:read` of the node of each session; what the token may not read is redacted"},
    {"/v1/guard/", "PUT",
     "`key:write` of the prefix and of everything under it, and of the claim or lock that guards it"},
    {"/v1/guard/", "DELETE",
     "`key:write` of the prefix and of everything under it; without `?fence=` also `operator:write`"},
    {"/v1/guards", "GET", "`key:read` of each prefix"},
    {"/v1/outcome/", "GET", "any valid token; it finds only writes of the same token"},
    {"/v1/outcome/", "PUT DELETE",
     "any valid token; with `acl.default_policy = \"deny\"` one with at least one rule. It affects only writes of the "
     "same token"},
    {"/v1/catalog/register", "PUT", registers},
    {"/v1/catalog/deregister", "PUT", deregisters},
    {"/v1/catalog/nodes", "GET", "`node:read` of each node"},
    {"/v1/catalog/services", "GET", "`service:read` of each service"},
    {"/v1/catalog/service/", "GET", reads_instances},
    {"/v1/catalog/connect/", "GET", reads_instances},
    {"/v1/catalog/gateway-services/", "GET", reads_instances},
    {"/v1/catalog/node/", "GET", reads_node_services},
    {"/v1/catalog/node-services/", "GET", reads_node_services},
    {"/v1/health/node/", "GET", reads_checks},
    {"/v1/health/checks/", "GET", reads_checks},
    {"/v1/health/state/", "GET", reads_checks},
    {"/v1/health/service/", "GET", reads_instances},
    {"/v1/health/connect/", "GET", reads_instances},
    {"/v1/health/ingress/", "GET", reads_instances},
    {"/v1/coordinate/nodes", "GET", "`node:read` of each node"},
    {"/v1/coordinate/node/", "GET", "`node:read` of the node"},
    {"/v1/agent/services", "GET", "`service:read` of each service"},
    {"/v1/agent/service/", "GET", reads_service},
    {"/v1/agent/service/register", "PUT",
     "`service:write` of the service, and of the one that it replaces; for its checks, what `/v1/agent/check/register` "
     "needs"},
    {"/v1/agent/service/deregister/", "PUT", changes_service},
    {"/v1/agent/service/maintenance/", "PUT", changes_service},
    {"/v1/agent/health/service/id/", "GET", reads_service},
    {"/v1/agent/health/service/name/", "GET", reads_service},
    {"/v1/agent/checks", "GET",
     "`service:read` of each check's service; `node:read` of this node for the node's checks"},
    {"/v1/agent/check/register", "PUT",
     "`service:write` of the check's service, or `node:write` of this node for a node's check; the same for the check "
     "that it replaces; for an alias check, also `node:read` and `service:read` of what it follows"},
    {"/v1/agent/check/deregister/", "PUT", changes_check},
    {"/v1/agent/check/pass/", "PUT", changes_check},
    {"/v1/agent/check/warn/", "PUT", changes_check},
    {"/v1/agent/check/fail/", "PUT", changes_check},
    {"/v1/agent/check/update/", "PUT", changes_check},
    {"/v1/event/fire/", "PUT", "`event:write` of the event's name"},
    {"/v1/event/list", "GET", "`event:read` of each event's name"},
    {"/v1/acl/policies", "GET", reads_policies},
    {"/v1/acl/policy", "PUT", "`acl:write`"},
    {"/v1/acl/policy/", "GET", reads_policies},
    {"/v1/acl/policy/", "PUT DELETE", "`acl:write`"},
    {"/v1/acl/policy/name/", "GET", reads_policies},
    {"/v1/acl/roles", "GET", reads_policies},
    {"/v1/acl/role", "PUT", "`acl:write`"},
    {"/v1/acl/role/", "GET", reads_policies},
    {"/v1/acl/role/", "PUT DELETE", "`acl:write`"},
    {"/v1/acl/role/name/", "GET", reads_policies},
    {"/v1/acl/tokens", "GET", reads_secrets},
    {"/v1/acl/token", "PUT", "`acl:write`"},
    {"/v1/acl/token/", "GET", reads_secrets},
    {"/v1/acl/token/", "PUT DELETE", "`acl:write`"},
    {"/v1/acl/token/self", "GET", "any valid token except the anonymous one"},
    {"/v1/acl/list", "GET", "`acl:write`"},
    {"/v1/acl/rules/translate/", "GET", "`acl:read`"},
    {"/v1/internal/acl/authorize", "POST", "any valid token"},
    {"/v1/internal/acl/rules", "GET", "any valid token; only over a client agent's connection to the server port"},
};

bool has_method(const request_rule& rule, std::string_view method) {
  return (" " + std::string(rule.methods) + " ").find(" " + std::string(method) + " ") != std::string::npos;
}

/// @returns "?" if there is no rule: the test fails.
std::string_view need_of(const route& r, std::string_view method) {
  const auto needs = r.needs(method_bit(method));
  if (needs != http::access::by_state && needs != http::access::by_agent)
    return rule_of(needs);
  for (const auto& rule : rules_by_request)
    if (rule.pattern == r.pattern && has_method(rule, method))
      return rule.needs;
  return "?";
}

std::string permissions_page() {
  std::string out = page_begin;
  std::string last; // methods and need of the last line
  for (const auto& r : all_routes()) {
    // Methods with the same need share a line, and so do paths that follow each other.
    std::set<std::string_view> written;
    for (const auto first : method_names_of(r)) {
      const auto need = need_of(r, first);
      if (!written.insert(need).second)
        continue;
      std::string methods;
      for (const auto name : method_names_of(r))
        if (need_of(r, name) == need)
          methods.append(methods.empty() ? "" : ", ").append(name);
      const auto rest = " | " + methods + " | " + std::string(need) + " |\n";
      if (rest == last)
        out.resize(out.size() - rest.size());
      out.append(rest == last ? ", `" : "| `").append(r.pattern).append("`").append(rest);
      last = rest;
    }
  }
  return out;
}

} // namespace

TEST_CASE("docs/reference/permissions.md equals the table of routes") {
  const auto file = std::string(BELAY_SOURCE_DIR "/docs/reference/permissions.md");
  const auto made = permissions_page();
  if (std::getenv("BELAY_REWRITE") != nullptr)
    std::ofstream(file, std::ios::binary) << made;
  std::ifstream in(file, std::ios::binary);
  const std::string stored{std::istreambuf_iterator<char>(in), {}};
  INFO("docs/reference/permissions.md is not what the table says: BELAY_REWRITE=1 writes it");
  CHECK(stored == made);
}

TEST_CASE("the page has a rule for each request, and no rule without a request") {
  for (const auto& r : all_routes())
    for (const auto name : method_names_of(r)) {
      INFO(r.pattern << " " << name);
      CHECK(need_of(r, name) != "?");
    }
  for (const auto& rule : rules_by_request) {
    INFO(rule.pattern << " " << rule.methods);
    bool used = false;
    for (const auto& r : all_routes())
      for (const auto name : method_names_of(r))
        used |= r.pattern == rule.pattern && need_of(r, name) == rule.needs;
    CHECK(used);
  }
}

// A route without a rule would be open to all clients.
TEST_CASE("a route has its permission, or does not compile") {
  STATIC_REQUIRE_FALSE(std::is_default_constructible_v<access_rule>);
  STATIC_REQUIRE_FALSE(std::is_default_constructible_v<route>);
}

TEST_CASE("few paths are open to every client") {
  std::set<std::string_view> open;
  for (const auto& r : all_routes())
    for (const auto name : method_names_of(r))
      if (r.needs(method_bit(name)) == http::access::unrestricted)
        open.insert(r.pattern);
  CHECK(open == std::set<std::string_view>{"/v1/status/leader", "/v1/status/peers", "/v1/catalog/datacenters",
                                           "/v1/coordinate/datacenters", "/v1/agent/live", "/v1/agent/ready",
                                           "/v1/acl/bootstrap", "/v1/acl/replication", "/v1/internal/agent/alive"});
}
