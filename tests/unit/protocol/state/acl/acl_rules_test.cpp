#include "tests/unit/protocol/state/acl/acl_driver.hpp"

#include <algorithm>

using namespace belay;
using namespace belay::state;

namespace {

acl_token_set update_of(const acl_token& known) {
  acl_token_set c;
  c.token.accessor = known.accessor;
  c.token.description = "changed";
  return c;
}

std::uint64_t policies_index(const acl_driver& d) {
  return d.m.evaluate(acl_policy_list{}).index.value;
}
std::uint64_t tokens_index(const acl_driver& d) {
  return d.m.evaluate(acl_token_list{}).index.value;
}

} // namespace

TEST_CASE(
    "the first entry makes the built-in policy, the anonymous token and the master's, and the next ones nothing") {
  acl_driver d;
  const auto policies = std::get<acl_rows>(d.m.evaluate(acl_policy_list{}).data);
  CHECK(names_in(policies) == std::vector<std::string>{"global-management"});
  const auto all = std::get<acl_policy_ptr>(policies.list.front().row);
  CHECK(all->id == management_policy_id);
  CHECK(acl::read_rules(all->rules).ok());
  CHECK(d.token_count() == 2);
  const auto nobody = d.token_of(std::string(anonymous_accessor));
  REQUIRE(nobody);
  CHECK(nobody->secret == "anonymous");
  CHECK(nobody->policies.empty());
  const auto master = d.token_of(uuid(1));
  REQUIRE(master);
  CHECK(master->description == "Master Token");
  CHECK(master->create_time_ns == 1'000);
  CHECK(master->policies == std::vector<std::string>{std::string(management_policy_id)});

  const auto digest = d.m.digest();
  d.apply(acl_initialize{management_secret, uuid(2), 9});
  d.apply(acl_initialize{"deny", uuid(3), 9});
  d.apply(acl_initialize{"anonymous", uuid(3), 9});
  d.apply(acl_initialize{"", uuid(3), 9});
  CHECK(d.m.digest() == digest);
  CHECK_FALSE(d.access_change_sent());
  d.apply(acl_initialize{"another", uuid(3), 9});
  CHECK(d.token_count() == 3);
}

TEST_CASE("bootstrap succeeds once, and again only with the index of the previous one") {
  acl_driver with_master;
  CHECK(with_master.refused(with_master.apply(acl_bootstrap{uuid(5), uuid(6), 7, {}})) ==
        "Permission denied: ACL bootstrap no longer allowed (reset index: 1)");

  driver d;
  d.apply(acl_initialize{"", uuid(9), 1});
  const acl_bootstrap first{uuid(5), uuid(6), 7, {}};
  const auto made = d.apply(first);
  CHECK(token_in(made).secret == uuid(6));
  CHECK(token_in(made).description == "Bootstrap Token (Global Management)");
  CHECK(std::get<acl_row>(made).policies ==
        std::vector<acl_link>{{std::string(management_policy_id), "global-management"}});
  const auto at = to_string(d.index());
  // Its outcome was unknown, and it is in the log twice.
  CHECK(token_in(d.apply(first)).modify_index == token_in(made).modify_index);
  const acl_bootstrap next{uuid(7), uuid(8), 8, {}};
  CHECK(d.refused(d.apply(next)) == "Permission denied: ACL bootstrap no longer allowed (reset index: " + at + ")");
  acl_bootstrap reset{uuid(7), uuid(8), 8, log_index{77}};
  CHECK(d.refused(d.apply(reset)) == "Invalid bootstrap reset index (specified 77, reset index: " + at + ")");
  reset.reset_index = token_in(made).create_index;
  CHECK(token_in(d.apply(reset)).accessor == uuid(7));
  const auto again = to_string(d.index());
  CHECK(d.refused(d.apply(acl_bootstrap{uuid(10), uuid(11), 9, token_in(made).create_index})) ==
        "Invalid bootstrap reset index (specified " + at + ", reset index: " + again + ")");
}

// As in Consul 1.8.7: tokens that it created itself, until they are changed.
TEST_CASE(
    "the token list from before Consul 1.4 has the tokens of the configuration and of a bootstrap, until they change") {
  driver d;
  d.apply(acl_initialize{"", uuid(9), 1});
  const auto listed = [&] { return names_in(std::get<acl_rows>(d.m.evaluate(acl_legacy_list{}).data)); };
  CHECK(listed().empty()); // the anonymous token is not in the list
  d.apply(acl_bootstrap{uuid(5), uuid(6), 7, {}});
  d.apply(acl_initialize{"the master's", uuid(4), 8});
  CHECK(listed() == std::vector<std::string>{uuid(5), uuid(4)}); // sorted by secret
  acl_token_set made;
  made.token.accessor = uuid(7);
  made.token.secret = uuid(8);
  made.token.description = "another";
  made.policies = {{std::string(management_policy_id), ""}};
  made.fresh = true;
  CHECK(token_in(d.apply(made)).accessor == uuid(7));
  CHECK(listed().size() == 2);
  CHECK(d.m.evaluate(acl_legacy_list{}).index == d.index());

  acl_token_set changed;
  changed.token.accessor = uuid(5);
  changed.token.description = "Bootstrap Token (Global Management)";
  changed.policies = {{std::string(management_policy_id), ""}};
  CHECK(token_in(d.apply(changed)).accessor == uuid(5));
  CHECK(listed() == std::vector<std::string>{uuid(4)});
  d.apply(acl_token_delete{uuid(4)});
  CHECK(listed().empty());
}

TEST_CASE("policies: names, rules, replacement") {
  acl_driver d;
  const auto made = policy_in(d.set_policy("p1", R"(key "a" { policy = "read" })"));
  CHECK(made.create_index == d.index());
  CHECK(policies_index(d) == d.index().value);
  CHECK(d.access_change_sent());
  CHECK(d.refused(d.set_policy("", "")) == "Invalid Policy: no Name is set");
  const auto bad_name = "Invalid Policy: invalid Name. Only alphanumeric characters, '-' and '_' are allowed";
  CHECK(d.refused(d.set_policy("a b", "")) == bad_name);
  CHECK(d.refused(d.set_policy(std::string(129, 'a'), "")) == bad_name);
  CHECK(d.refused(d.set_policy(std::string(128, 'a'), "")).empty());
  CHECK(d.refused(d.set_policy("p1", "")) == "Invalid Policy: A Policy with Name \"p1\" already exists");
  CHECK(d.refused(d.set_policy("P1", "")) == "Invalid Policy: A Policy with Name \"P1\" already exists");
  CHECK(d.refused(d.set_policy("p2", "key \"x\" {")).rfind("Failed to parse ACL rules: At 1:", 0) == 0);
  CHECK(d.refused(d.set_policy("p2", R"(key "x" { policy = "zz" })")).rfind("Invalid key policy", 0) == 0);
  const auto index = policies_index(d);
  CHECK(index < d.index().value);

  acl_policy_set c{made, false};
  c.policy.name = "renamed";
  c.policy.description = "d";
  const auto renamed = policy_in(d.apply(c));
  CHECK(renamed.create_index == made.create_index);
  CHECK(renamed.modify_index == d.index());
  CHECK(names_in(std::get<acl_rows>(d.m.evaluate(acl_policy_read{{"", "p1"}}).data)).empty());
  CHECK(names_in(std::get<acl_rows>(d.m.evaluate(acl_policy_read{{"", "renamed"}}).data)).size() == 1);
  CHECK(names_in(std::get<acl_rows>(d.m.evaluate(acl_policy_read{{made.id, ""}}).data)).size() == 1);
  c.policy.name = std::string(128, 'a');
  CHECK(d.refused(d.apply(c)) == "Invalid Policy: A policy with name \"" + std::string(128, 'a') + "\" already exists");
  c.policy.id = uuid(999);
  CHECK(d.refused(d.apply(c)) == "cannot find policy " + uuid(999));
  CHECK(d.refused(d.apply(acl_policy_delete{uuid(999)})).empty());
  CHECK(d.refused(d.apply(acl_policy_delete{made.id})).empty());
  CHECK(names_in(std::get<acl_rows>(d.m.evaluate(acl_policy_read{{made.id, ""}}).data)).empty());
}

TEST_CASE("a policy that is made twice by the same entry is made once") {
  acl_driver d;
  acl_policy_set c;
  c.policy.id = uuid(50);
  c.policy.name = "p";
  c.fresh = true;
  const auto first = policy_in(d.apply(c));
  CHECK(policy_in(d.apply(c)).modify_index == first.modify_index);
  acl_role_set r;
  r.role.id = uuid(51);
  r.role.name = "r";
  r.fresh = true;
  const auto role = role_in(d.apply(r));
  CHECK(role_in(d.apply(r)).modify_index == role.modify_index);
}

TEST_CASE("the built-in policy cannot be changed, except for its name and description") {
  acl_driver d;
  const auto all = std::get<acl_policy_ptr>(
      std::get<acl_rows>(d.m.evaluate(acl_policy_read{{std::string(management_policy_id), ""}}).data).list.front().row);
  acl_policy_set c{*all, false};
  c.policy.rules = "";
  CHECK(d.refused(d.apply(c)) == "Changing the Rules for the builtin global-management policy is not permitted");
  c.policy.rules = all->rules;
  c.policy.datacenters.emplace();
  CHECK(d.refused(d.apply(c)) == "Changing the Datacenters of the builtin global-management policy is not permitted");
  c.policy.datacenters.reset();
  c.policy.description = "d";
  CHECK(d.refused(d.apply(c)).empty());
  CHECK(d.refused(d.apply(acl_policy_delete{all->id})) ==
        "Delete operation not permitted on the builtin global-management policy");
  CHECK(d.denied(management_secret, kv_write{}) == "Must provide key");
}

TEST_CASE("roles: names, links, identities") {
  acl_driver d;
  const auto policy = policy_in(d.set_policy("p", ""));
  const auto made = role_in(d.set_role("r", {{"", "p"}, {policy.id, ""}}));
  CHECK(made.policies == std::vector<std::string>{policy.id});
  CHECK(d.refused(d.set_role("", {})) == "Invalid Role: no Name is set");
  CHECK(d.refused(d.set_role("a.b", {})) ==
        "Invalid Role: invalid Name. Only alphanumeric characters, '-' and '_' are allowed");
  CHECK(d.refused(d.set_role(std::string(256, 'r'), {})).empty());
  CHECK(d.refused(d.set_role("r", {})) == "Invalid Role: A Role with Name \"r\" already exists");
  CHECK(d.refused(d.set_role("s", {{"", "nope"}})) == "No such ACL policy with name \"nope\"");
  CHECK(d.refused(d.set_role("s", {{uuid(8), ""}})) == "No such ACL policy with ID \"" + uuid(8) + "\"");
  acl_role_set c;
  c.role = made;
  c.role.service_identities = {
      {"web", std::vector<std::string>{"dc2"}}, {"db", std::nullopt}, {"web", std::vector<std::string>{"dc1"}}};
  c.role.node_identities = {{"n", "dc1"}, {"m", "dc1"}, {"n", "dc1"}};
  const auto merged = role_in(d.apply(c));
  CHECK(merged.service_identities ==
        std::vector<service_identity>{{"db", std::nullopt}, {"web", std::vector<std::string>{"dc1", "dc2"}}});
  CHECK(merged.node_identities == std::vector<node_identity>{{"m", "dc1"}, {"n", "dc1"}});
  CHECK(merged.policies.empty());
  c.role.node_identities = {{"n", ""}};
  CHECK(d.refused(d.apply(c)) == "Node identity is missing the datacenter field on this role");
  c.role.service_identities = {{"Web", std::nullopt}};
  CHECK(d.refused(d.apply(c)) ==
        "Service identity \"Web\" has an invalid name. Only alphanumeric characters, '-' and '_' are allowed");
  c.role.id = uuid(999);
  CHECK(d.refused(d.apply(c)) == "cannot find role " + uuid(999));
  CHECK(d.refused(d.apply(acl_role_delete{made.id})).empty());
  CHECK(d.refused(d.apply(acl_role_delete{made.id})).empty());
}

TEST_CASE("tokens: requirements of a new one") {
  acl_driver d;
  const auto c = d.new_token();
  const auto made = token_in(d.apply(c));
  CHECK(tokens_index(d) == d.index().value);
  // The same command again, after an unknown outcome.
  CHECK(token_in(d.apply(c)).modify_index == made.modify_index);
  const auto text = [&](auto change) {
    auto other = d.new_token();
    change(other);
    return d.refused(d.apply(other));
  };
  CHECK(text([&](auto& o) { o.token.accessor = made.accessor; }) == "Invalid Token: AccessorID is already in use");
  CHECK(text([&](auto& o) { o.token.accessor = made.secret; }) == "Invalid Token: AccessorID is already in use");
  CHECK(text([&](auto& o) { o.token.secret = made.secret; }) == "Invalid Token: SecretID is already in use");
  CHECK(text([&](auto& o) { o.token.secret = made.accessor; }) == "Invalid Token: SecretID is already in use");
  CHECK(text([&](auto& o) { o.token.accessor = "x"; }) == "Invalid Token: AccessorID is not a valid UUID");
  CHECK(text([&](auto& o) { o.token.secret = "allow"; }) == "Invalid Token: SecretID is not a valid UUID");
  CHECK(text([&](auto& o) { o.token.secret = "00000000-0000-0000-0000-000000000099"; }) ==
        "Invalid Token: UUIDs with the prefix \"00000000-0000-0000-0000-0000000000\" are reserved");
  CHECK(text([&](auto& o) { o.policies = {{"", "nope"}}; }) == "No such ACL policy with name \"nope\"");
  CHECK(text([&](auto& o) { o.roles = {{uuid(8), ""}}; }) == "No such ACL role with ID \"" + uuid(8) + "\"");
  CHECK(text([&](auto& o) { o.lives_ns = -1; }) == "ExpirationTime cannot be before CreateTime");
  CHECK(text([&](auto& o) {
          o.token.service_identities = {{"", {}}};
        }) == "Service identity is missing the service name field on this token");
  CHECK(text([&](auto& o) {
          o.token.local = true;
          o.token.service_identities = {{"web", std::vector<std::string>{"dc1"}}};
        }) == "Service identity \"web\" cannot specify a list of datacenters on a local token");
  CHECK(d.token_count() == 3);
}

TEST_CASE("tokens: capitals of an accessor are kept where the entry names its client, and never compared") {
  const std::string given = "ABCDEFAB-0000-4000-8000-00000000DEAD", small = "abcdefab-0000-4000-8000-00000000dead";
  acl_driver d;
  auto old = d.new_token();
  old.token.accessor = given;
  CHECK(token_in(d.apply(old)).accessor == small);
  d.apply(acl_token_delete{small});

  command c = d.new_token({{std::string(management_policy_id), ""}}, 5000);
  std::get<acl_token_set>(c).token.accessor = given;
  c.client_address = "10.1.2.3";
  const auto made = token_in(d.apply(c));
  CHECK(made.accessor == given);
  CHECK(token_in(d.apply(c)).modify_index == made.modify_index);
  REQUIRE(d.token_of(small));
  CHECK(d.token_of(small)->accessor == given);
  auto again = d.new_token();
  again.token.accessor = small;
  CHECK(d.refused(d.apply(again)) == "Invalid Token: AccessorID is already in use");

  auto u = update_of(made);
  u.token.accessor = small;
  const auto changed = token_in(d.apply(u));
  CHECK(changed.accessor == given);
  CHECK(changed.description == "changed");
  CHECK(d.token_count() == 3);
  d.apply(acl_token_delete{small});
  CHECK_FALSE(d.token_of(given));
  CHECK(d.token_count() == 2);
}

TEST_CASE("tokens: immutable fields") {
  acl_driver d;
  auto c = d.new_token({{std::string(management_policy_id), ""}}, 5000);
  const auto made = token_in(d.apply(c));
  CHECK(made.expires == cluster_time{d.now.value + 5000});
  auto u = update_of(made);
  const auto changed = token_in(d.apply(u));
  CHECK(changed.description == "changed");
  CHECK(changed.policies.empty());
  CHECK(changed.secret == made.secret);
  CHECK(changed.expires == made.expires);
  CHECK(changed.expiration_time_ns == made.expiration_time_ns);
  CHECK(changed.create_time_ns == made.create_time_ns);
  CHECK(changed.create_index == made.create_index);
  u.token.local = true;
  CHECK(d.refused(d.apply(u)) == "cannot toggle local mode of " + made.accessor);
  u = update_of(made);
  u.token.secret = uuid(999);
  CHECK(d.refused(d.apply(u)) == "Changing a tokens SecretID is not permitted");
  u.token.secret = "manage";
  CHECK(d.refused(d.apply(u)) == "Permission denied: Cannot modify root ACL");
  u = update_of(made);
  u.lives_ns = 1;
  CHECK(d.refused(d.apply(u)) == "Cannot change expiration time of " + made.accessor);
  u.lives_ns = 0;
  u.token.expiration_time_ns = 5;
  CHECK(d.refused(d.apply(u)) == "Cannot change expiration time of " + made.accessor);
  u.token.expiration_time_ns = made.expiration_time_ns;
  CHECK(d.refused(d.apply(u)).empty());
  u.token.accessor = uuid(999);
  CHECK(d.refused(d.apply(u)) == "Cannot find token \"" + uuid(999) + "\"");
  u.token.accessor = "x";
  CHECK(d.refused(d.apply(u)) == "AccessorID is not a valid UUID");
}

TEST_CASE("the anonymous token may be given something, and cannot be deleted") {
  acl_driver d;
  d.set_policy("p", R"(key "k" { policy = "write" })");
  auto u = update_of(*d.token_of(std::string(anonymous_accessor)));
  u.policies = {{"", "p"}};
  CHECK(d.refused(d.apply(u)).empty());
  kv_write put;
  put.op.key = "k";
  CHECK(d.denied("anonymous", put).empty());
  const auto text = "Delete operation not permitted on the anonymous token";
  CHECK(d.refused(d.apply(acl_token_delete{std::string(anonymous_accessor)})) == text);
  CHECK(d.denied(management_secret, acl_token_delete{std::string(anonymous_accessor)}) == text);
}

TEST_CASE("a clone has the permissions of the original, and expires with it") {
  acl_driver d;
  const auto policy = policy_in(d.set_policy("p", ""));
  const auto made = token_in(d.apply(d.new_token({{"", "p"}}, 5000)));
  const acl_token_clone c{made.accessor, uuid(70), uuid(71), std::nullopt, 9};
  const auto clone = token_in(d.apply(c));
  CHECK(clone.accessor == uuid(70));
  CHECK(clone.policies == made.policies);
  CHECK(clone.expires == made.expires);
  CHECK(clone.description == made.description);
  CHECK(clone.create_index == d.index());
  CHECK(clone.create_time_ns == 9);
  CHECK(token_in(d.apply(c)).modify_index == clone.modify_index);
  CHECK(token_in(d.apply(acl_token_clone{made.accessor, uuid(72), uuid(73), "d", 9})).description == "d");
  CHECK(d.refused(d.apply(acl_token_clone{uuid(999), uuid(74), uuid(75), "d", 9})) == "ACL not found");
  CHECK(d.refused(d.apply(acl_token_clone{made.accessor, uuid(70), uuid(75), "d", 9})) ==
        "Invalid Token: AccessorID is already in use");
}

// In the order of Consul's lists; accessors have another order here.
TEST_CASE("tokens are listed in the order of their secrets") {
  acl_driver d;
  for (const auto n : {105, 101, 103}) {
    auto c = d.new_token({});
    c.token.accessor = uuid(static_cast<std::uint64_t>(300 - n));
    c.token.secret = uuid(static_cast<std::uint64_t>(n));
    token_in(d.apply(c));
  }
  std::vector<std::string> secrets;
  const auto listed = d.m.evaluate(acl_token_list{});
  for (const auto& row : std::get<acl_rows>(listed.data).list)
    secrets.push_back(std::get<acl_token_ptr>(row.row)->secret);
  CHECK(secrets.size() >= 3);
  CHECK(std::is_sorted(secrets.begin(), secrets.end()));
}

TEST_CASE("deleted policies and roles are no longer shown in what was linked to them") {
  acl_driver d;
  const auto policy = policy_in(d.set_policy("p", ""));
  d.set_policy("q", "");
  const auto role = role_in(d.set_role("r", {{"", "p"}}));
  auto c = d.new_token({{"", "p"}, {"", "q"}});
  c.roles = {{"", "r"}};
  const auto made = token_in(d.apply(c));
  const auto shown = [&] { return std::get<acl_rows>(d.m.evaluate(acl_token_read{made.accessor}).data).list.front(); };
  CHECK(shown().policies.size() == 2);
  CHECK(shown().roles == std::vector<acl_link>{{role.id, "r"}});
  CHECK(std::get<acl_rows>(d.m.evaluate(acl_token_list{policy.id, ""}).data).list.size() == 1);
  CHECK(std::get<acl_rows>(d.m.evaluate(acl_token_list{"", role.id}).data).list.size() == 1);
  CHECK(std::get<acl_rows>(d.m.evaluate(acl_role_list{policy.id}).data).list.size() == 1);
  d.apply(acl_policy_delete{policy.id});
  d.apply(acl_role_delete{role.id});
  CHECK(shown().policies.size() == 1);
  CHECK(shown().policies.front().name == "q");
  CHECK(shown().roles.empty());
}

TEST_CASE("an expired token is removed with the next entry, of whatever kind") {
  acl_driver d;
  const auto a = d.new_token({}, 1000), b = d.new_token({}, 2000);
  d.apply(a);
  d.apply(b);
  CHECK(d.token_count() == 4);
  d.pass(999);
  d.set("k");
  CHECK(d.token_count() == 4);
  CHECK_FALSE(d.access_change_sent());
  d.pass(1);
  d.set("k2");
  CHECK(d.token_count() == 3);
  CHECK(d.access_change_sent());
  CHECK(tokens_index(d) == d.index().value);
  d.pass(1000);
  // The expired token is hidden from other tokens even before an entry removes it.
  CHECK(d.read<acl_rows>(management_secret, acl_token_list{}).list.size() == 2);
  CHECK(d.token_count() == 3);
  d.changed.clear();
  d.m.skip(d.index().next(), d.now, d.changed);
  CHECK(d.token_count() == 2);
  CHECK(d.access_change_sent());
  CHECK(d.m.digest() == d.m.recompute_digest());
}
