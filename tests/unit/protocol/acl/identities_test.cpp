// What identities of services and nodes grant, and the policy global-management.

#include "protocol/acl/identities.hpp"
#include "tests/unit/protocol/acl/documents.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::acl;

TEST_CASE("the identity of a service") {
  const auto web = pooled({rules_of_service_identity("web")});
  CHECK(web.service_write("web"));
  CHECK(web.service_write("web-sidecar-proxy"));
  CHECK_FALSE(web.service_write("web-"));
  CHECK_FALSE(web.service_write("web2"));
  CHECK(web.service_read("db"));
  CHECK(web.node_read("n1"));
  CHECK_FALSE(web.node_write("n1"));
  CHECK_FALSE(web.node_write("web"));
  CHECK_FALSE(web.key_read("web"));
  CHECK_FALSE(web.session_read("n1"));
  CHECK_FALSE(web.acl_read());
}

TEST_CASE("the identity of a node") {
  const auto n1 = pooled({rules_of_node_identity("n1")});
  CHECK(n1.node_write("n1"));
  CHECK_FALSE(n1.node_read("n2"));
  CHECK_FALSE(n1.node_read("n11"));
  CHECK(n1.service_read("db"));
  CHECK_FALSE(n1.service_write("n1"));
  CHECK_FALSE(n1.agent_read("n1"));
  CHECK_FALSE(n1.operator_read());
}

TEST_CASE("identities are policies among others") {
  // A token has the identity of web, and a policy that denies part of what the identity grants.
  const auto both =
      pooled({rules_of_service_identity("web"), saying({{resource::service, match::exact, "web", permission::deny}})});
  CHECK_FALSE(both.service_write("web"));
  CHECK(both.service_write("web-sidecar-proxy"));
}

TEST_CASE("global-management grants everything, except what another policy denies") {
  for (const auto& all : {pooled({management_rules()}), authorizer::manage_all()}) {
    for (std::size_t on = 0; on < resource_count; ++on)
      for (const auto* name : {"", "a", "a/b"})
        CHECK(all.allows(static_cast<resource>(on), permission::write, name));
    CHECK(all.key_write_prefix(""));
    CHECK(all.acl_write());
    CHECK(all.keyring_write());
    CHECK(all.operator_write());
    CHECK(all.snapshot());
  }
  const auto most =
      pooled({management_rules(), saying({key("secret", permission::deny)}), {{}, permission::deny, {}, {}}});
  CHECK_FALSE(most.key_read("secret"));
  CHECK_FALSE(most.acl_read());
  CHECK(most.key_write("secret2"));
}
