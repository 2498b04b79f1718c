// What is read from the text of a policy, and the errors for invalid texts.

#include "protocol/acl/rules.hpp"
#include "tests/unit/protocol/acl/documents.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::acl;

namespace {

rules read_items(std::vector<hcl::item> items) {
  const auto r = read_rules({std::move(items)});
  INFO((r ? "" : r.error()));
  REQUIRE(r);
  return *r;
}

std::string complaint_of(std::vector<hcl::item> items) {
  const auto r = read_rules({std::move(items)});
  REQUIRE(!r);
  return r.error();
}

} // namespace

TEST_CASE("each word of a rule with a name") {
  // A policy with one rule. For another resource, or as an exact name, it would grant too much.
  struct line {
    const char* word;
    resource on;
    match by;
  };
  for (const auto& l : {
           line{"key", resource::key, match::exact},
           line{"key_prefix", resource::key, match::prefix},
           line{"session", resource::session, match::exact},
           line{"session_prefix", resource::session, match::prefix},
           line{"node", resource::node, match::exact},
           line{"node_prefix", resource::node, match::prefix},
           line{"service", resource::service, match::exact},
           line{"service_prefix", resource::service, match::prefix},
           line{"agent", resource::agent, match::exact},
           line{"agent_prefix", resource::agent, match::prefix},
           line{"event", resource::event, match::exact},
           line{"event_prefix", resource::event, match::prefix},
           line{"query", resource::query, match::exact},
           line{"query_prefix", resource::query, match::prefix},
       }) {
    INFO(l.word);
    const rules expected = saying({{l.on, l.by, "a/b", permission::read}});
    CHECK(read_items({item({l.word, "a/b"}, policy("read"))}) == expected);
    // JSON, before and after equal names are merged
    CHECK(read_items({item({l.word}, block({item({"a/b"}, policy("read"))}))}) == expected);
    CHECK(read_items({item({l.word}, list_of({block({item({"a/b"}, policy("read"))})}))}) == expected);
    CHECK(read_items({item({l.word, "a/b"}, list_of({policy("read")}))}) == expected);
  }
}

TEST_CASE("each word of a policy") {
  // The same four words everywhere, but `list` only for keys.
  struct line {
    const char* word;
    std::optional<permission> of_key, of_node, of_acl;
  };
  const std::optional<permission> deny = permission::deny, reads = permission::read, list = permission::list,
                                  writes = permission::write;
  for (const auto& l : {
           line{"deny", deny, deny, deny},
           line{"read", reads, reads, reads},
           line{"list", list, {}, {}},
           line{"write", writes, writes, writes},
           line{"Write", writes, writes, writes},
           line{"READ", reads, reads, reads},
           line{"", {}, {}, {}},
           line{"sometimes", {}, {}, {}},
           line{" read", {}, {}, {}},
           line{"manage", {}, {}, {}},
       }) {
    INFO(l.word);
    const auto key_rule = read_rules({{item({"key", "x"}, policy(l.word))}});
    CHECK((key_rule ? std::optional(key_rule->named.front().policy) : std::nullopt) == l.of_key);
    const auto node_rule = read_rules({{item({"node", "x"}, policy(l.word))}});
    CHECK((node_rule ? std::optional(node_rule->named.front().policy) : std::nullopt) == l.of_node);
    const auto acl_rule = read_rules({{item({"acl"}, text(l.word))}});
    CHECK((acl_rule ? acl_rule->on_acl : std::nullopt) == l.of_acl);
  }
}

TEST_CASE("scalars in the text of a policy") {
  SECTION("each stands for itself") {
    const auto r =
        read_items({item({"operator"}, text("read")), item({"keyring"}, text("deny")), item({"acl"}, text("write"))});
    CHECK(r == rules{{}, permission::write, permission::deny, permission::read});
  }
  SECTION("missing or empty, it has no effect") {
    CHECK(read_items({}) == rules{});
    CHECK(read_items({item({"operator"}, text("")), item({"keyring"}, text("")), item({"acl"}, text(""))}) == rules{});
  }
  SECTION("the last one counts, whatever it grants") {
    CHECK(read_items({item({"acl"}, text("deny")), item({"acl"}, text("read"))}).on_acl == permission::read);
    CHECK(read_items({item({"operator"}, text("write")), item({"operator"}, text("deny"))}).on_operator ==
          permission::deny);
  }
}

TEST_CASE("rules of one policy are kept in order, all of them") {
  const auto r = read_items({item({"key", "b"}, policy("write")), item({"key_prefix", ""}, policy("list")),
                             item({"key", "b"}, policy("deny")), item({"key", "a"}, policy("read"))});
  CHECK(r.named == std::vector<rule>{key("b", permission::write), key("b", permission::deny),
                                     key("a", permission::read), key_prefix("", permission::list)});
}

TEST_CASE("names may be anything") {
  for (const std::string& name :
       {std::string(), std::string("/"), std::string("a b"), std::string("\xFF\0z", 3), std::string("ключ")}) {
    INFO(name);
    CHECK(read_items({item({"key", name}, policy("read"))}) == saying({key(name, permission::read)}));
  }
}

TEST_CASE("rules without a meaning are ignored") {
  // Policies for other builds have these words. Rejecting them would reject the whole policy.
  CHECK(read_items({item({"mesh"}, text("write")), item({"namespace", "ns"}, block({item({"acl"}, text("write"))})),
                    item({"keys", "a"}, policy("write")), item({"id"}, text("x"))}) == rules{});
  CHECK(read_items({item({"key", "a"}, block({item({"policy"}, text("write")), item({"sentinel"}, block({}))}))}) ==
        saying({key("a", permission::write)}));
  CHECK(read_items(
            {item({"service", "s"}, block({item({"policy"}, text("read")), item({"intentions"}, text("write"))}))}) ==
        saying({{resource::service, match::exact, "s", permission::read}}));
  CHECK(read_items({item({"key"}, block({}))}) == rules{}); // {"key": {}}
}

TEST_CASE("words in letters of any case") {
  CHECK(
      read_items({item({"Key_Prefix", "A"}, block({item({"Policy"}, text("write"))})), item({"ACL"}, text("read"))}) ==
      rules{{key_prefix("A", permission::write)}, permission::read, {}, {}});
}

TEST_CASE("invalid policies, with Consul's texts") {
  struct line {
    const char* word;
    const char* struct_text; // after &acl.
  };
  for (const auto& l : {
           line{"agent", R"(AgentRule{Node:"x", Policy:"zz"})"},
           line{"agent_prefix", R"(AgentRule{Node:"x", Policy:"zz"})"},
           line{"key", R"(KeyRule{Prefix:"x", Policy:"zz", EnterpriseRule:acl.EnterpriseRule{}})"},
           line{"key_prefix", R"(KeyRule{Prefix:"x", Policy:"zz", EnterpriseRule:acl.EnterpriseRule{}})"},
           line{"node", R"(NodeRule{Name:"x", Policy:"zz", EnterpriseRule:acl.EnterpriseRule{}})"},
           line{"node_prefix", R"(NodeRule{Name:"x", Policy:"zz", EnterpriseRule:acl.EnterpriseRule{}})"},
           line{"service", R"(ServiceRule{Name:"x", Policy:"zz", Intentions:"", EnterpriseRule:acl.EnterpriseRule{}})"},
           line{"service_prefix",
                R"(ServiceRule{Name:"x", Policy:"zz", Intentions:"", EnterpriseRule:acl.EnterpriseRule{}})"},
           line{"session", R"(SessionRule{Node:"x", Policy:"zz"})"},
           line{"session_prefix", R"(SessionRule{Node:"x", Policy:"zz"})"},
           line{"event", R"(EventRule{Event:"x", Policy:"zz"})"},
           line{"event_prefix", R"(EventRule{Event:"x", Policy:"zz"})"},
           line{"query", R"(PreparedQueryRule{Prefix:"x", Policy:"zz"})"},
           line{"query_prefix", R"(PreparedQueryRule{Prefix:"x", Policy:"zz"})"},
       })
    CHECK(complaint_of({item({l.word, "x"}, policy("zz"))}) ==
          "Invalid " + std::string(l.word) + " policy: &acl." + l.struct_text);

  for (const std::string word : {"acl", "keyring", "operator"})
    CHECK(complaint_of({item({word}, text("z\"z"))}) == "Invalid " + word + R"( policy: "z\"z")");
  CHECK(complaint_of({item({"key", "x"}, block({}))}) ==
        R"(Invalid key policy: &acl.KeyRule{Prefix:"x", Policy:"", EnterpriseRule:acl.EnterpriseRule{}})");
  CHECK(complaint_of(
            {item({"service", "s"}, block({item({"policy"}, text("read")), item({"intentions"}, text("no"))}))}) ==
        R"(Invalid service intentions policy: &acl.ServiceRule{Name:"s", Policy:"read", Intentions:"no", )"
        R"(EnterpriseRule:acl.EnterpriseRule{}})");
  CHECK(complaint_of({item({"service_prefix", "s"},
                           block({item({"policy"}, text("read")), item({"intentions"}, text("list"))}))})
            .starts_with("Invalid service_prefix intentions policy: "));
}

TEST_CASE("of several errors the first in Consul's order is reported") {
  const auto bad = [](const char* word) { return item({word, "x"}, policy("zz")); };
  CHECK(complaint_of({bad("query"), bad("key"), bad("agent")}).starts_with("Invalid agent policy: "));
  CHECK(complaint_of({bad("query"), bad("key_prefix"), bad("key")}).starts_with("Invalid key policy: "));
  CHECK(complaint_of({bad("agent"), item({"acl"}, text("zz"))}) == R"(Invalid acl policy: "zz")");
  CHECK(complaint_of({item({"operator"}, text("zz")), item({"keyring"}, text("zz")), bad("query_prefix")})
            .starts_with("Invalid query_prefix policy: "));
  // Unreadable parts are reported first.
  CHECK(complaint_of({bad("agent"), item({"operator"}, list_of({}, at(2, 12)))}) ==
        "Failed to parse ACL rules: At 2:12: root.operator: unknown type for string *ast.ListType");
}

TEST_CASE("values of a type that cannot be read") {
  struct line {
    hcl::item given;
    const char* expected; // after "Failed to parse ACL rules: At 3:9: "
  };
  const auto where = at(3, 9);
  const hcl::value yes{where, true};
  const hcl::value half{where, hcl::number{"0.5", false}};
  const hcl::value three{where, hcl::number{"3", true}};
  const auto inside = [](hcl::value v) { return block({item({"policy"}, std::move(v))}); };
  for (const auto& l : {
           line{item({"acl"}, yes), "root.acl: unknown type for string *ast.LiteralType"},
           line{item({"acl"}, half), "root.acl: unknown type for string *ast.LiteralType"},
           line{item({"keyring"}, list_of({}, where)), "root.keyring: unknown type for string *ast.ListType"},
           line{item({"operator"}, block({}, where)), "root.operator: unknown type for string *ast.ObjectList"},
           line{item({"acl", "x"}, block({}), where), "root.acl: unknown type for string *ast.ObjectList"},
           line{item({"key"}, text("read", where)), "unknown slice type: *ast.LiteralType"},
           line{item({"key"}, yes), "unknown slice type: *ast.LiteralType"},
           line{item({"key"}, list_of({text("a", where)})),
                "root.key[0]: not an object type for struct (*ast.LiteralType)"},
           line{item({"node", "a"}, list_of({}, where)), "root.node[0]: not an object type for struct (*ast.ListType)"},
           line{item({"key", "a"}, inside(yes)), "root.key[0].Policy: unknown type for string *ast.LiteralType"},
           line{item({"key", "a"}, inside(list_of({}, where))),
                "root.key[0].Policy: unknown type for string *ast.ListType"},
           line{item({"key", "a"}, inside(block({item({"x"}, three, where)}))),
                "root.key[0].Policy: unknown type for string *ast.ObjectList"},
           line{item({"key", "a"}, block({item({"policy", "x"}, block({}), where)})),
                "root.key[0].Policy: unknown type for string *ast.ObjectList"},
           line{item({"key", "a", "policy"}, block({}, where)),
                "root.key[0].Policy: unknown type for string *ast.ObjectList"},
           line{item({"service", "a"}, block({item({"intentions"}, yes)})),
                "root.service[0].Intentions: unknown type for string *ast.LiteralType"},
       })
    CHECK(complaint_of({l.given}) == std::string("Failed to parse ACL rules: At 3:9: ") + l.expected);

  // The number of the rule among those with its word.
  CHECK(complaint_of({item({"key", "a"}, policy("read")), item({"node", "a"}, policy("read")),
                      item({"key", "b"}, inside(yes))}) ==
        "Failed to parse ACL rules: At 3:9: root.key[1].Policy: unknown type for string *ast.LiteralType");
  // A whole number is read as a text.
  CHECK(complaint_of({item({"acl"}, three)}) == R"(Invalid acl policy: "3")");
}

TEST_CASE("odd input is read as Consul's decoder reads it") {
  const auto missing = [](const char* name) {
    return "Invalid key policy: &acl.KeyRule{Prefix:\"" + std::string(name) +
           "\", Policy:\"\", EnterpriseRule:acl.EnterpriseRule{}}";
  };
  // key { policy = "read" } names the key "policy".
  CHECK(read_items({item({"key"}, policy("read"))}) == saying({key("policy", permission::read)}));
  // key { a = "read" } has a name and no policy.
  CHECK(complaint_of({item({"key"}, block({item({"a"}, text("read"))}))}) == missing("a"));
  // key "a" "b" { policy = "read" }: the second name hides the policy, unless there is a third.
  CHECK(complaint_of({item({"key", "a", "b"}, policy("read"))}) == missing("a"));
  CHECK(read_items({item({"key", "a", "b", "c"}, policy("read"))}) == saying({key("a", permission::read)}));
  // The last of several policies takes precedence.
  CHECK(read_items({item({"key", "a"}, block({item({"policy"}, text("deny")), item({"policy"}, text("read"))}))}) ==
        saying({key("a", permission::read)}));
}
