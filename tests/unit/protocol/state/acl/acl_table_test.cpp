#include "protocol/state/acl/acl_table.hpp"

#include "protocol/base/random.hpp"
#include "tests/unit/protocol/state/acl/acl_driver.hpp"

#include <map>

using namespace belay;
using namespace belay::state;

namespace {

acl_policy_ptr policy_row(const std::string& id, const std::string& name, const std::string& rules) {
  acl_policy p;
  p.id = id;
  p.name = name;
  p.rules = rules;
  return std::make_shared<const acl_policy>(p);
}

acl_token_ptr token_row(const std::string& accessor, const std::string& secret, std::vector<std::string> policies,
                        std::uint64_t expires = 0) {
  acl_token t;
  t.accessor = accessor;
  t.secret = secret;
  t.policies = std::move(policies);
  t.expires = cluster_time{expires};
  return std::make_shared<const acl_token>(t);
}

auth_context by(const std::string& secret, bool allowed = false, const std::string& datacenter = "dc1") {
  return {secret, allowed, datacenter};
}

} // namespace

TEST_CASE(
    "the permissions of a token are compiled once, and again when its policies, its roles or the token have changed") {
  undo_log log;
  acl_table t(log);
  t.put(policy_row(uuid(1), "p", R"(key "a" { policy = "write" })"));
  t.put(token_row(uuid(2), "s", {uuid(1)}));
  const auto first = t.authorizer_of(by("s"), {});
  REQUIRE(first);
  CHECK(first->key_write("a"));
  CHECK(t.authorizer_of(by("s"), {}) == first);
  CHECK(t.authorizer_of(by("s", true), {}) != first);
  CHECK(t.authorizer_of(by("s", true), {})->key_write("b"));
  CHECK(t.compiled_count() == 2);

  t.put(token_row(uuid(3), "other", {}));
  CHECK(t.authorizer_of(by("s"), {}) == first); // another token makes no difference
  t.put(policy_row(uuid(1), "p", R"(key "b" { policy = "write" })"));
  CHECK_FALSE(t.authorizer_of(by("s"), {})->key_write("a"));
  CHECK(t.authorizer_of(by("s"), {})->key_write("b"));
  t.put(token_row(uuid(2), "s", {}));
  CHECK_FALSE(t.authorizer_of(by("s"), {})->key_write("b"));
  t.put(token_row(uuid(2), "t", {}));
  CHECK_FALSE(t.authorizer_of(by("s"), {}));
  CHECK(t.authorizer_of(by("t"), {}));
  t.erase_token(uuid(2));
  CHECK_FALSE(t.authorizer_of(by("t"), {}));
}

TEST_CASE("the memory of ended tokens is limited") {
  undo_log log;
  acl_table t(log);
  t.put(token_row(uuid(2), "s", {}));
  for (std::size_t i = 0; i < 3 * acl_table::compiled_max; ++i) {
    REQUIRE(t.authorizer_of(by("s", false, "dc" + std::to_string(i)), {}));
    CHECK_FALSE(t.authorizer_of(by("unknown" + std::to_string(i)), {}));
    REQUIRE(t.compiled_count() <= acl_table::compiled_max);
  }
}

TEST_CASE("policies and identities count in their datacenters") {
  undo_log log;
  acl_table t(log);
  acl_policy p = *policy_row(uuid(1), "p", R"(key "a" { policy = "write" })");
  p.datacenters = std::vector<std::string>{"dc1"};
  t.put(std::make_shared<const acl_policy>(p));
  acl_role r;
  r.id = uuid(4);
  r.name = "r";
  r.node_identities = {{"n", "dc2"}};
  t.put(std::make_shared<const acl_role>(r));
  acl_token k = *token_row(uuid(2), "s", {uuid(1), uuid(77)});
  k.roles = {uuid(4), uuid(78)};
  k.service_identities = {{"web", std::vector<std::string>{"dc2"}}, {"db", std::nullopt}};
  t.put(std::make_shared<const acl_token>(k));
  const auto one = t.authorizer_of(by("s"), {}), two = t.authorizer_of(by("s", false, "dc2"), {});
  CHECK(one->key_write("a"));
  CHECK_FALSE(two->key_write("a"));
  CHECK_FALSE(one->service_write("web"));
  CHECK(two->service_write("web"));
  CHECK(one->service_write("db"));
  CHECK(two->service_write("db"));
  CHECK_FALSE(one->node_write("n"));
  CHECK(two->node_write("n"));
}

TEST_CASE("a policy with unreadable rules denies everything, even what is allowed by default") {
  undo_log log;
  acl_table t(log);
  t.put(policy_row(uuid(1), "p", "key {{{"));
  t.put(token_row(uuid(2), "s", {uuid(1)}));
  const auto may = t.authorizer_of(by("s", true), {});
  REQUIRE(may);
  CHECK_FALSE(may->key_read("a"));
  CHECK_FALSE(may->service_read("a"));
  CHECK_FALSE(may->operator_read());
  CHECK_FALSE(may->acl_read());
}

TEST_CASE("secrets are looked up as they are, IDs and names in any case") {
  undo_log log;
  acl_table t(log);
  const std::string id = "00000000-0000-4000-8000-00000000abcd", upper = "00000000-0000-4000-8000-00000000ABCD";
  t.put(policy_row(id, "Name", ""));
  t.put(token_row(id, "Secret", {}));
  CHECK(t.policy(upper));
  CHECK(t.policy_named("nAME"));
  CHECK(t.token(upper));
  CHECK(t.token_with_secret("Secret"));
  for (const auto* other : {"secret", "Secre", "Secret ", ""})
    CHECK_FALSE(t.token_with_secret(other));
  t.erase_policy(id);
  CHECK_FALSE(t.policy_named("name"));
}

TEST_CASE("a token permits nothing after it expires, and is removed then") {
  undo_log log;
  acl_table t(log);
  t.put(token_row(uuid(2), "s", {}, 100));
  CHECK(t.authorizer_of(by("s"), cluster_time{99}));
  CHECK_FALSE(t.authorizer_of(by("s"), cluster_time{100}));
  CHECK_FALSE(t.expire(cluster_time{99}));
  CHECK(t.expire(cluster_time{100}));
  CHECK_FALSE(t.token(uuid(2)));
  CHECK_FALSE(t.expire(cluster_time{1000}));
}

// A bug would leave wrong indexes beside the rows.
TEST_CASE("after any changes the look-ups are those of the rows, also of a machine that was loaded from a checkpoint") {
  seeded_random random(11);
  acl_driver d;
  std::map<std::string, dirty_row> stored;
  for (int step = 0; step < 600; ++step) {
    const auto id = uuid(static_cast<int>(random.below(12)) + 10);
    const auto name = "n" + std::to_string(random.below(6));
    switch (random.below(7)) {
    case 0:
    case 1: {
      acl_policy_set c;
      c.policy.id = id;
      c.policy.name = name;
      c.policy.description = std::to_string(step);
      c.fresh = random.below(2) == 0;
      d.apply(c);
      break;
    }
    case 2: {
      acl_role_set c;
      c.role.id = id;
      c.role.name = name;
      c.policies = {{"", "n" + std::to_string(random.below(6))}};
      c.fresh = random.below(2) == 0;
      d.apply(c);
      break;
    }
    case 3:
    case 4: {
      auto c = d.new_token({}, static_cast<std::int64_t>(random.below(3)) * 20);
      c.token.accessor = id;
      c.fresh = random.below(3) != 0;
      if (!c.fresh)
        c.token.secret.clear();
      d.apply(c);
      break;
    }
    case 5:
      d.apply(random.below(2) == 0 ? command(acl_policy_delete{id}) : command(acl_role_delete{id}));
      break;
    default:
      d.apply(acl_token_delete{id});
    }
    d.pass(random.below(4));
    REQUIRE(d.m.digest() == d.m.recompute_digest());
    for (auto& row : d.m.take_dirty()) {
      const auto key = std::string(name_of(row.table)) + "/" + row.key;
      if (std::holds_alternative<std::monostate>(row.row))
        stored.erase(key);
      else
        stored[key] = row;
    }
  }
  machine copy;
  for (const auto& [key, row] : stored)
    copy.load_row(row);
  copy.finish_load(d.m.applied_index(), d.m.now());
  CHECK(copy.digest() == d.m.digest());
  for (const auto* m : {&d.m, &copy}) {
    const auto policies = std::get<acl_rows>(m->evaluate(acl_policy_list{}).data);
    for (const auto& each : policies.list) {
      const auto p = std::get<acl_policy_ptr>(each.row);
      REQUIRE(p->meaning);
      CHECK(names_in(std::get<acl_rows>(m->evaluate(acl_policy_read{{"", p->name}}).data)).size() == 1);
    }
    const auto tokens = std::get<acl_rows>(m->evaluate(acl_token_list{}).data);
    for (const auto& each : tokens.list) {
      query self = acl_token_self{};
      self.by = auth_context{std::get<acl_token_ptr>(each.row)->secret, true, "dc1"};
      if (self.by->secret != anonymous_secret)
        CHECK(std::get<acl_rows>(m->evaluate(self).data).list.size() == 1);
    }
  }
}
