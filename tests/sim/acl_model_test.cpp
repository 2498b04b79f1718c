#include "sim/checkers/kv_model.hpp"
#include "sim/checkers/models/acl_model.hpp"
#include "tests/sim/acl_entries.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::sim;

namespace {

using level = acl_rule::level;

acl_rights rights(const std::string& rules, bool allowed_by_default = false) {
  return {read_acl_rules(rules).value(), allowed_by_default};
}

/// Applies one entry after the other, as the servers have them in their logs.
struct entries {
  kv_model model;

  std::optional<state::reply> operator()(const state::command& c) {
    return model.apply(entry(model.applied().value + 1, c));
  }
  std::optional<state::reply> at_time(std::uint64_t now, const state::command& c) {
    auto e = entry(model.applied().value + 1, c);
    e.time = cluster_time{now};
    return model.apply(e);
  }
};

std::string received(const std::optional<state::reply>& r) {
  if (!r)
    return "not judged";
  if (const auto* yes = std::get_if<bool>(&*r))
    return *yes ? "true" : "false";
  if (const auto* no = std::get_if<state::refusal>(&*r))
    return no->text;
  if (const auto* t = std::get_if<state::txn_reply>(&*r)) {
    std::string text;
    for (const auto& e : t->errors)
      text += std::to_string(e.op_index) + " " + e.what + ";";
    return text;
  }
  return "a row";
}

} // namespace

TEST_CASE("acl model: how rules are read") {
  const auto all =
      read_acl_rules("key_prefix \"k/\" { policy = \"write\" }\nkey \"a\" { policy = \"list\" }\nacl = \"read\"\n");
  REQUIRE(all.has_value());
  REQUIRE(all->size() == 3);
  CHECK((*all)[0].prefix);
  CHECK((*all)[0].name == "k/");
  CHECK((*all)[1].access_level == level::list);
  CHECK((*all)[2].resource == "acl");
  for (const auto* text : {"key \"a\" { policy = \"wirte\" }\n", "node \"a\" { policy = \"list\" }\n", "key \"a\" {\n",
                           "keys \"a\" { policy = \"read\" }\n", "acl = \"read\"", "acl = \"list\"\n"}) {
    INFO(text);
    CHECK_FALSE(read_acl_rules(text).has_value());
  }
}

// The example of docs/contract/10, section 2.
TEST_CASE("acl model: an exact rule wins over the longest prefix, that over the default") {
  const auto r = rights("key_prefix \"app/\" { policy = \"write\" }\nkey_prefix \"app/sec/\" { policy = \"deny\" }\n"
                        "key \"app/sec/x\" { policy = \"read\" }\n");
  CHECK(r.writes_key("app/a"));
  CHECK(r.reads_key("app/sec/x"));
  CHECK_FALSE(r.writes_key("app/sec/x"));
  CHECK_FALSE(r.reads_key("app/sec/y"));
  CHECK_FALSE(r.reads_key("app2"));
  CHECK(rights("key_prefix \"app/\" { policy = \"deny\" }\n", true).writes_key("app2"));
}

TEST_CASE("acl model: of two rules for the same resource deny takes precedence, then write") {
  const auto same = [](const char* a, const char* b) {
    return rights(std::string("key_prefix \"k\" { policy = \"") + a + "\" }\nkey_prefix \"k\" { policy = \"" + b +
                  "\" }\n");
  };
  CHECK_FALSE(same("write", "deny").reads_key("k"));
  CHECK_FALSE(same("deny", "write").reads_key("k"));
  CHECK(same("read", "write").writes_key("k"));
  CHECK_FALSE(same("read", "list").writes_key("k"));
  CHECK(same("list", "read").allows("key", "k", level::list));
}

// The examples of docs/contract/10, section 4.
TEST_CASE("acl model: a tree needs the permission for every name below it that has a rule") {
  const auto r = rights("key_prefix \"app/\" { policy = \"write\" }\nkey \"app/sec/x\" { policy = \"read\" }\n");
  CHECK_FALSE(r.removes_tree("app/"));
  CHECK_FALSE(r.removes_tree("app/sec"));
  CHECK(r.removes_tree("app/q"));
  CHECK_FALSE(rights("key \"app/a\" { policy = \"write\" }\n").removes_tree("app/a"));
  CHECK(rights("", true).removes_tree(""));
  CHECK_FALSE(rights("").removes_tree(""));
  CHECK_FALSE(rights("key \"z\" { policy = \"deny\" }\n", true).removes_tree(""));
}

TEST_CASE("acl model: ACLs are managed only by a rule for it") {
  CHECK_FALSE(rights("", true).writes_acls());
  CHECK(rights("acl = \"write\"\n").writes_acls());
  CHECK_FALSE(rights("acl = \"read\"\n", true).writes_acls());
  CHECK_FALSE(rights("acl = \"deny\"\nacl = \"write\"\n").writes_acls());
}

TEST_CASE("acl model: a decision is that of its entry") {
  entries run;
  const auto write = on_behalf_of("a", set("k/1", "v"));
  CHECK(received(run(write)) == "ACL not found");
  CHECK(received(run(begin_acls())) == "true");
  CHECK(received(run(on_behalf_of("master", make_policy('1', "key_prefix \"k/\" { policy = \"write\" }\n")))) ==
        "a row");
  CHECK(received(run(on_behalf_of("master", make_role('2', "1")))) == "a row");
  CHECK(received(run(write)) == "ACL not found");
  CHECK(received(run(on_behalf_of("master", make_token('a', "", "2")))) == "a row");
  CHECK(received(run(write)) == "true");
  CHECK(received(run(on_behalf_of("a", set("other", "v")))) == "Permission denied");
  CHECK(received(run(on_behalf_of("a", make_token('b', "1")))) == "Permission denied");
  CHECK(received(run(on_behalf_of("master", make_policy('1', "key_prefix \"k/\" { policy = \"read\" }\n", false)))) ==
        "a row");
  CHECK(received(run(write)) == "Permission denied");
  CHECK(received(run(on_behalf_of("master", remove_policy('1')))) == "true");
  CHECK(received(run(on_behalf_of("a", txn(key_op(state::kv_verb::set, "k/1"), key_op(state::kv_verb::set, "k/2"))))) ==
        "0 Permission denied;1 Permission denied;");
  CHECK(received(run(on_behalf_of("master", remove_token('a')))) == "true");
  CHECK(received(run(write)) == "ACL not found");
  CHECK(received(run(on_behalf_of("a", write, true))) == "ACL not found");
  CHECK(received(run(on_behalf_of("anonymous", write))) == "Permission denied");
  CHECK(received(run(on_behalf_of("anonymous", write, true))) == "true");
  // Only what was allowed was written.
  const auto e = run.model.entry_at("k/1", run.model.applied());
  REQUIRE(e != nullptr);
  CHECK(e->create_index == log_index{7});
  CHECK(run.model.entry_at("other", run.model.applied()) == nullptr);
}

TEST_CASE("acl model: links are those of the entry, and names are taken once") {
  entries run;
  run(begin_acls());
  CHECK(received(run(make_token('a', "1"))) == "No such ACL policy with ID \"" + acl_id('1') + "\"");
  CHECK(received(run(make_policy('1', ""))) == "a row");
  auto twice = make_policy('1', "");
  std::get<state::acl_policy_set>(twice).policy.id = acl_id('3');
  CHECK(received(run(twice)) == "Invalid Policy: A Policy with Name \"p1\" already exists");
  CHECK(received(run(make_policy('4', "", false))) == "cannot find policy " + acl_id('4'));
  CHECK(received(run(make_policy('4', "key \"a\" { policy = \"wirte\" }\n"))) == ""); // whatever the text
  CHECK(received(run(make_token('b', "", "", 0, false))) == "Cannot find token \"" + acl_id('b') + "\"");
  CHECK(received(run(remove_token('b'))) == "true");
}

TEST_CASE("acl model: a token expires by the time of an entry") {
  entries run;
  run.at_time(1, begin_acls());
  run.at_time(2, make_policy('1', "key_prefix \"\" { policy = \"write\" }\n"));
  run.at_time(10, make_token('a', "1", "", 50));
  const auto write = on_behalf_of("a", set("k", "v"));
  CHECK(received(run.at_time(59, write)) == "true");
  const auto before = run.model.applied();
  CHECK(received(run.at_time(60, write)) == "ACL not found");
  CHECK(run.model.access().rights_of(as("a"), before) != nullptr);
  CHECK(run.model.access().rights_of(as("a"), run.model.applied()) == nullptr);
}

TEST_CASE("acl model: a restore brings tokens back, but does not prolong their lives") {
  entries run;
  run.at_time(1, begin_acls());
  run.at_time(2, make_policy('1', "key_prefix \"\" { policy = \"write\" }\n"));
  run.at_time(3, make_token('a', "1"));
  run.at_time(4, make_token('b', "1", "", 50));
  run.at_time(5, remove_token('a'));
  CHECK(received(run.at_time(6, on_behalf_of("a", set("k", "v")))) == "ACL not found");
  const auto parts = restore("r", 4);
  run.at_time(7, parts[0]);
  run.at_time(8, on_behalf_of("a", parts[1]));
  CHECK(received(run.at_time(9, on_behalf_of("b", parts[2]))) == "Permission denied");
  run.at_time(10, parts[1]);
  CHECK(received(run.at_time(11, on_behalf_of("master", parts[2]))) == "true");
  CHECK(received(run.at_time(12, on_behalf_of("a", set("k", "v")))) == "true");
  CHECK(received(run.at_time(53, on_behalf_of("b", set("k", "w")))) == "true");
  CHECK(received(run.at_time(54, on_behalf_of("b", set("k", "x")))) == "ACL not found");
}
