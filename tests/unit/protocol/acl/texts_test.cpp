// From the text of a policy to its permissions: the parser and the reader of rules together.

#include "protocol/acl/authorizer.hpp"
#include "protocol/acl/legacy_rules.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace belay;
using namespace belay::acl;

namespace {

rules read_text(std::string_view text) {
  auto r = read_rules(text);
  INFO(text);
  REQUIRE(r);
  return *r;
}

} // namespace

// docs/contract/10, section 2: the same rules mean the same in both languages.
TEST_CASE("the rules of a text in HCL and in JSON are the same") {
  const auto hcl = read_text(R"(
    # of the team
    key_prefix "app/" { policy = "write" }
    key "app/secret" { policy = "deny" }
    session_prefix "" { policy = "write" }
    node "n1" { policy = "read" }
    operator = "read"
    acl = "write"
  )");
  CHECK(hcl.named.size() == 4);
  CHECK(hcl.on_operator == permission::read);
  const auto json = read_text(R"({
    "key_prefix": {"app/": {"policy": "write"}},
    "key": {"app/secret": {"policy": "deny"}},
    "session_prefix": {"": {"policy": "write"}},
    "node": {"n1": {"policy": "read"}},
    "operator": "read",
    "acl": "write"
  })");
  CHECK(json == hcl);
  const rules* all[] = {&hcl};
  const authorizer allowed(all, default_policy::deny);
  CHECK(allowed.key_write("app/a"));
  CHECK_FALSE(allowed.key_read("app/secret"));
  CHECK_FALSE(allowed.key_write_prefix("app/"));
  CHECK(allowed.session_write("any"));
  CHECK(allowed.acl_write());
}

TEST_CASE("an empty text is a policy, a text without rules is rejected with its position") {
  CHECK(read_text("") == rules{});
  CHECK(read_text(" \n# nothing\n") == rules{});
  struct row {
    const char* text;
    const char* why;
  };
  for (
      const auto& r : {
          row{R"(key "x" {)", "Failed to parse ACL rules: At 1:11: object expected closing RBRACE got: EOF"},
          row{R"(key_prefix "x" { policy = "sometimes" })",
              R"(Invalid key_prefix policy: &acl.KeyRule{Prefix:"x", Policy:"sometimes", EnterpriseRule:acl.EnterpriseRule{}})"},
          row{R"({"key":{"x":{"policy":"zz"}}})",
              R"(Invalid key policy: &acl.KeyRule{Prefix:"x", Policy:"zz", EnterpriseRule:acl.EnterpriseRule{}})"},
          row{R"(operator = "maybe")", R"(Invalid operator policy: "maybe")"},
      }) {
    const auto got = read_rules(r.text);
    INFO(r.text);
    REQUIRE_FALSE(got);
    CHECK(got.error() == r.why);
  }
}

// A translation can be parsed, and means for prefixes what the old rules meant.
TEST_CASE("the translation of a text in the old syntax is a text in the new one") {
  const auto text = translate_legacy(R"(
key "a" { policy = "read" }
service "" { policy = "write" }
operator = "read"
)");
  REQUIRE(text);
  CHECK(*text == "key_prefix \"a\" {\n  policy = \"read\"\n}\n\nservice_prefix \"\" {\n  policy = \"write\"\n}\n\n"
                 "operator = \"read\"");
  CHECK(read_text(*text) ==
        read_text(R"(key_prefix "a" { policy = "read" } service_prefix "" { policy = "write" } operator = "read")"));
  CHECK(*translate_legacy(*text) == *text);
  CHECK(translate_legacy("key {").error() == "Failed to parse rules: At 1:7: object expected closing RBRACE got: EOF");
}
