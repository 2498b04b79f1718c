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

Made from the table of routes by a test: `BELAY_REWRITE=1 build/dev/test_http` writes it. What the words mean,
and what is decided row by row stands in [contract/10-acl.md](../contract/10-acl.md), section 3. Names are those of this server's node, where nothing else is said.

| path | method | needs |
|---|---|---|
)";

std::string_view told_need(http::access a) {
  switch (a) {
  case http::access::nobody:
    return "nothing";
  case http::access::by_state:
    return "decided for each key, row or operation";
  case http::access::by_agent:
    return "decided for each service, check or event";
  case http::access::agent_read:
    return "agent read";
  case http::access::agent_write:
    return "agent write";
  case http::access::node_write:
    return "node write";
  case http::access::operator_read:
    return "operator read";
  case http::access::operator_write:
    return "operator write";
  case http::access::keyring_read:
    return "keyring read";
  case http::access::keyring_write:
    return "keyring write";
  case http::access::acl_read:
    return "acl read";
  case http::access::acl_write:
    return "acl write";
  case http::access::coordinate_write:
    return "node write, for the node that is named";
  case http::access::members:
    return "any token; node read for each member that is shown";
  }
  return "?";
}

std::string permissions_page() {
  std::string out = page_begin;
  for (const auto& r : all_routes()) {
    // Methods with the same need share a line.
    std::set<http::access> told;
    for (const auto first : method_names_of(r)) {
      const auto need = r.needs(method_bit(first));
      if (!told.insert(need).second)
        continue;
      std::string methods;
      for (const auto name : method_names_of(r))
        if (r.needs(method_bit(name)) == need)
          methods.append(methods.empty() ? "" : ", ").append(name);
      out.append("| `")
          .append(r.pattern)
          .append("` | ")
          .append(methods)
          .append(" | ")
          .append(told_need(need))
          .append(" |\n");
    }
  }
  return out;
}

} // namespace

TEST_CASE("docs/reference/permissions.md is what the table of routes says") {
  const auto file = std::string(BELAY_SOURCE_DIR "/docs/reference/permissions.md");
  const auto made = permissions_page();
  if (std::getenv("BELAY_REWRITE") != nullptr)
    std::ofstream(file, std::ios::binary) << made;
  std::ifstream in(file, std::ios::binary);
  const std::string stored{std::istreambuf_iterator<char>(in), {}};
  INFO("docs/reference/permissions.md is not what the table says: BELAY_REWRITE=1 writes it");
  CHECK(stored == made);
}

// A route without a rule would be open to all clients.
TEST_CASE("a route says whom it is for, or does not compile") {
  STATIC_REQUIRE_FALSE(std::is_default_constructible_v<access_rule>);
  STATIC_REQUIRE_FALSE(std::is_default_constructible_v<route>);
}

TEST_CASE("few paths are open to everybody") {
  std::set<std::string_view> open;
  for (const auto& r : all_routes())
    for (const auto name : method_names_of(r))
      if (r.needs(method_bit(name)) == http::access::nobody)
        open.insert(r.pattern);
  CHECK(open == std::set<std::string_view>{"/v1/status/leader", "/v1/status/peers", "/v1/catalog/datacenters",
                                           "/v1/coordinate/datacenters", "/v1/agent/live", "/v1/agent/ready",
                                           "/v1/acl/bootstrap", "/v1/acl/replication", "/v1/internal/agent/alive"});
}
