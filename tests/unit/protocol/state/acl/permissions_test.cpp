#include "tests/unit/protocol/state/acl/acl_driver.hpp"

#include <algorithm>

using namespace belay;
using namespace belay::state;

namespace {

constexpr auto denied = "Permission denied";
constexpr auto unknown = "ACL not found";

using texts = std::vector<std::string>;

kv_write write(kv_verb verb, const std::string& key) {
  kv_op op;
  op.verb = verb;
  op.key = key;
  op.value = make_payload("v");
  return {op};
}
kv_write put(const std::string& key) {
  return write(kv_verb::set, key);
}

catalog_register node_named(const std::string& name, const std::string& address = "10.0.0.1") {
  catalog_register r;
  r.node.node = name;
  r.node.address = address;
  return r;
}
catalog_register service_on(const std::string& node, const std::string& id, const std::string& service) {
  auto r = node_named(node);
  r.service.emplace();
  r.service->id = id;
  r.service->service = service;
  return r;
}
catalog_register check_on(const std::string& node, const std::string& id, const std::string& service_id = {}) {
  auto r = node_named(node);
  check_record c;
  c.check_id = id;
  c.status = "passing";
  c.service_id = service_id;
  r.checks.push_back(c);
  return r;
}

template <class Row, class Name>
texts names_of_rows(const std::vector<Row>& rows, Name name) {
  texts out;
  for (const auto& each : rows)
    out.emplace_back(name(each));
  return out;
}

texts keys_in(const kv_entries& found) {
  return names_of_rows(found.entries, [](const auto& e) { return e->key; });
}

texts errors_of(const reply& r) {
  const auto* t = std::get_if<txn_reply>(&r);
  return t == nullptr
             ? texts{"no transaction"}
             : names_of_rows(t->errors, [](const auto& e) { return std::to_string(e.op_index) + " " + e.what; });
}

kv_op op(kv_verb verb, const std::string& key) {
  return write(verb, key).op;
}

} // namespace

TEST_CASE("a token that is unknown, deleted or expired permits nothing; reserved ones are rejected differently") {
  acl_driver d;
  d.allowed_by_default = true;
  const auto secret = d.token(R"(key_prefix "" { policy = "write" })");
  const auto brief = d.token(R"(key_prefix "" { policy = "write" })", 1000);
  for (const auto& nobody : {std::string("nobody's"), std::string(), secret + " ", uuid(1)}) {
    CHECK(d.denied(nobody, put("k")) == unknown);
    CHECK(d.denied(nobody, session_destroy{{uuid(9)}, ""}) == unknown);
    CHECK(d.denied(nobody, txn{}) == unknown);
    CHECK(d.denied(nobody, tombstone_reap{}) == unknown);
    CHECK(d.denied(nobody, catalog_register{}) == unknown);
    for (const auto& q : {query(kv_get{"k"}), query(session_list{}), query(catalog_nodes{}), query(txn_read{}),
                          query(autopilot_get{}), query(acl_token_self{}), query(permissions_read{})})
      CHECK(d.refused_read(nobody, q) == unknown);
  }
  for (const auto* reserved : {"allow", "deny", "manage"}) {
    CHECK(d.denied(reserved, put("k")) == "Cannot resolve root ACL");
    CHECK(d.refused_read(reserved, kv_get{"k"}) == "Cannot resolve root ACL");
  }
  CHECK(d.denied(secret, put("k")).empty());
  CHECK(d.denied(brief, put("k")).empty());
  d.apply(acl_token_delete{d.accessor_of(secret)});
  CHECK(d.denied(secret, put("k")) == unknown);
  // Between entries the query carries the time.
  query q = kv_get{"k"};
  q.by = d.by(brief);
  CHECK_FALSE(d.m.refuses(q, cluster_time{d.now.value + 999}));
  CHECK(d.m.refuses(q, cluster_time{d.now.value + 1000})->text == unknown);
  const auto listed = [&](std::uint64_t after) {
    query all = acl_token_list{};
    all.by = d.by(management_secret);
    return std::get<acl_rows>(d.m.evaluate(all, cluster_time{d.now.value + after}).data).list.size();
  };
  CHECK(listed(1000) == listed(999) - 1);
  command c = put("k");
  c.by = d.by(brief);
  CHECK_FALSE(d.m.refuses(c, cluster_time{d.now.value + 999}));
  CHECK(d.refused(*d.m.refuses(c, cluster_time{d.now.value + 1000})) == unknown);
  d.pass(1000);
  CHECK(d.denied(brief, put("k")) == unknown);
}

TEST_CASE("a deleted token is unknown at once, and a changed policy counts with the next entry") {
  const auto lives_on = [] {
    acl_driver d;
    const auto secret = d.token(R"(key_prefix "" { policy = "write" })");
    if (!d.denied(secret, put("k")).empty())
      return false;
    d.apply(acl_token_delete{d.accessor_of(secret)});
    return d.denied(secret, put("k")) == unknown;
  };
  CHECK(detects_mutant("deleted_token_lives_on", lives_on));

  acl_driver d;
  const auto policy = policy_in(d.set_policy("p", R"(key "k" { policy = "write" })"));
  const auto role = role_in(d.set_role("r", {{policy.id, ""}}));
  auto made = d.new_token();
  made.roles = {{"", "r"}};
  d.apply(made);
  CHECK(d.denied(made.token.secret, put("k")).empty());
  acl_policy_set changed{policy, false};
  changed.policy.rules = R"(key "k" { policy = "read" })";
  CHECK(d.refused(d.apply(changed)).empty());
  CHECK(d.access_change_sent());
  CHECK(d.denied(made.token.secret, put("k")) == denied);
  CHECK(d.refused_read(made.token.secret, kv_get{"k"}).empty());
  d.apply(acl_role_delete{role.id});
  CHECK(d.refused_read(made.token.secret, kv_get{"k"}) == denied);
}

TEST_CASE("writes of a server itself, and without ACLs, are not authorized") {
  acl_driver d;
  CHECK(d.set("k"));
  CHECK(d.remove_tree(""));
  CHECK(d.refused(d.apply(tombstone_reap{})).empty());
  CHECK(d.denied(management_secret, tombstone_reap{}) == denied);
  CHECK(d.denied(management_secret, acl_initialize{}) == denied);
}

TEST_CASE("writes are authorized when they are applied; before that the sender can check") {
  const auto authorized = [] {
    acl_driver d;
    const auto secret = d.token(R"(key "mine" { policy = "write" })");
    return d.denied(secret, put("other")) == denied && d.get("other") == nullptr &&
           d.denied(secret, put("mine")).empty();
  };
  CHECK(detects_mutant("permissions_not_judged_in_apply", authorized));

  acl_driver d;
  command c = put("k");
  c.by = d.by("anonymous");
  CHECK(d.refused(*d.m.refuses(c, d.now)) == denied);
  CHECK_FALSE(d.m.refuse_early(c, d.now)); // nothing to do with permissions
  CHECK_FALSE(d.m.refuses(put("k"), d.now));
}

TEST_CASE("a decision that comes with a write holds until policies, roles or tokens change, or a token ends") {
  // With a token that lacks the permission: a write shows that the decision was accepted.
  const auto authorized_before = [](acl_driver& d, log_index at, command c) {
    c.by = d.by("anonymous");
    c.authorized_at = at;
    return d.refused(d.apply(c)).empty();
  };
  {
    acl_driver d;
    const auto secret = d.token(R"(key_prefix "" { policy = "write" })", 1000);
    d.set("another");
    const auto at = d.m.applied_index();
    CHECK(authorized_before(d, at, put("k")));
    CHECK(authorized_before(d, at, write(kv_verb::remove, "k")));
    CHECK_FALSE(authorized_before(d, log_index{}, put("k")));             // there was no decision
    CHECK_FALSE(authorized_before(d, log_index{at.value + 9}, put("k"))); // an impossible index
    CHECK_FALSE(authorized_before(d, at, node_named("n")));               // depends on more than that
    CHECK(authorized_before(d, at, put("k")));
    d.pass(1000); // that token expires before the next entry
    CHECK_FALSE(authorized_before(d, at, put("k")));
  }
  for (const int change : {0, 1, 2, 3}) {
    acl_driver d;
    const auto secret = d.token(R"(key_prefix "" { policy = "write" })");
    d.set("another");
    const auto at = d.m.applied_index();
    CHECK(authorized_before(d, at, put("k")));
    if (change == 0)
      d.set_policy("p", "");
    else if (change == 1)
      d.set_role("r", {});
    else if (change == 2)
      d.apply(acl_token_delete{d.accessor_of(secret)});
    else
      d.apply(d.new_token());
    CHECK_FALSE(authorized_before(d, at, put("k")));
    d.set("another");
    CHECK(authorized_before(d, d.m.applied_index(), put("k")));
  }
  const auto revoked = [] {
    acl_driver d;
    const auto secret = d.token(R"(key "k" { policy = "write" })");
    d.set("another");
    command c = put("k");
    c.by = d.by(secret);
    const bool first = !d.m.refuses(c, d.now);
    c.authorized_at = d.m.applied_index();
    d.apply(acl_token_delete{d.accessor_of(secret)});
    return first && d.refused(d.apply(c)) == unknown;
  };
  CHECK(detects_mutant("judgement_outlives_policies", revoked));
}

TEST_CASE("anonymous permissions are those of the default policy, even before the first entry about ACLs") {
  machine empty;
  driver d;
  for (const bool allowed : {false, true}) {
    command c = put("k");
    c.by = auth_context{"anonymous", allowed, "dc1"};
    CHECK(d.refused(d.apply(c)) == (allowed ? "" : denied));
    c.by->secret = uuid(1);
    CHECK(d.refused(d.apply(c)) == unknown);
  }
  CHECK_FALSE(d.m.has_access_rows());
  CHECK(acl_driver().m.has_access_rows());
}

TEST_CASE("keys: reading, listing, writing, and trees") {
  acl_driver d;
  for (const auto* key : {"app/a", "app/sec/x", "app/sec/y", "other", "web/1", "web/2"})
    d.set(key);
  const auto secret = d.token(R"(
    key_prefix "app/" { policy = "write" }
    key_prefix "app/sec/" { policy = "deny" }
    key "app/sec/x" { policy = "read" }
    key_prefix "web" { policy = "list" })");

  CHECK(keys_in(d.read<kv_entries>(secret, kv_get{"app/sec/x"})) == texts{"app/sec/x"});
  CHECK(d.refused_read(secret, kv_get{"app/sec/y"}) == denied);
  CHECK(d.refused_read(secret, kv_get{"not there"}) == denied);
  CHECK(d.refused_read(secret, kv_get{"app/not there"}).empty());
  CHECK(keys_in(d.read<kv_entries>(secret, kv_list{""})) == texts{"app/a", "app/sec/x", "web/1", "web/2"});
  CHECK(d.read<key_names>(secret, kv_keys{"", ""}).keys == texts{"app/a", "app/sec/x", "web/1", "web/2"});
  CHECK(d.read<key_names>(secret, kv_keys{"", "/"}).keys == texts{"app/", "web/"});
  CHECK(d.read<key_names>(secret, kv_keys{"app/", "/"}).keys == texts{"app/a", "app/sec/"});
  CHECK(d.ask(secret, kv_list{"other"}).index == d.m.evaluate(kv_list{"other"}).index);
  CHECK(d.read<kv_entries>(secret, kv_list{"other"}).entries.empty());

  query listed = kv_list{"web"};
  listed.lists_need_permission = true;
  CHECK(d.refused_read(secret, listed).empty());
  listed = kv_keys{"app/sec/x", ""};
  listed.lists_need_permission = true;
  CHECK(d.refused_read(secret, listed) == denied);
  query one = kv_get{"app/sec/x"};
  one.lists_need_permission = true;
  CHECK(d.refused_read(secret, one).empty());

  for (const auto verb :
       {kv_verb::set, kv_verb::cas, kv_verb::lock, kv_verb::unlock, kv_verb::remove, kv_verb::remove_cas}) {
    INFO(name_of(verb));
    CHECK(d.denied(secret, write(verb, "app/sec/x")) == denied);
    CHECK(d.denied(secret, write(verb, "web/1")) == denied);
    CHECK(d.denied(secret, write(verb, "app/new")) != denied);
  }
  CHECK(d.denied(secret, put("")) == "Must provide key");
  CHECK(d.get("app/sec/x"));
  CHECK(d.denied(secret, write(kv_verb::remove_tree, "app/")) == denied);
  CHECK(d.denied(secret, write(kv_verb::remove_tree, "app/sec")) == denied);
  CHECK(d.denied(secret, write(kv_verb::remove_tree, "")) == denied);
  CHECK(d.denied(secret, write(kv_verb::remove_tree, "app/q")).empty());
  CHECK(d.keys("") == texts{"app/a", "app/sec/x", "app/sec/y", "other", "web/1", "web/2"});
}

TEST_CASE("changes of keys: each is authorized by itself, and hidden ones move the cursor all the same") {
  acl_driver d;
  const auto secret = d.token(R"(
    key_prefix "app/" { policy = "list" }
    key "app/secret" { policy = "deny" })");
  const auto base = d.index();
  d.set("app/a");
  d.set("app/secret");
  d.set("web");
  query q = kv_changes{{""}, change_position{base}};
  const auto seen = [&] {
    auto found = d.read<change_rows>(secret, q);
    CHECK(found.reached == change_position{d.index()});
    return names_of_rows(found.list, [](const auto& c) { return c.row->key; });
  };
  CHECK(seen() == texts{"app/a"});
  d.remove_tree("");
  CHECK(seen() == texts{"app/a", "app/a"});
  CHECK(d.refused_read(secret, kv_at{"app/secret", d.index()}) == denied);
  CHECK(d.refused_read(secret, kv_history{"web"}) == denied);
  CHECK(d.refused_read(secret, kv_history{"app/a"}) == "");
  CHECK(d.refused_read("nobody's", q) == unknown);
  q.lists_need_permission = true;
  CHECK(d.refused_read(secret, q) == denied);
  std::get<kv_changes>(q).prefixes = {"app/"};
  CHECK(seen() == texts{"app/a", "app/a"});
  std::get<kv_changes>(q).prefixes = {"app/", "web"};
  CHECK(d.refused_read(secret, q) == denied);
}

TEST_CASE("permission to write a name is not permission to delete the tree below it") {
  CHECK(detects_mutant("tree_deleted_by_right_to_its_name", [] {
    acl_driver d;
    d.set("app/a");
    d.set("app/a/b");
    const auto secret = d.token(R"(key "app/a" { policy = "write" })");
    return d.denied(secret, write(kv_verb::remove_tree, "app/a")) == denied && d.keys("").size() == 2;
  }));
}

TEST_CASE("rows that may not be seen are left out of answers") {
  CHECK(detects_mutant("reads_not_filtered", [] {
    acl_driver d;
    d.set("hidden");
    return d.read<kv_entries>("anonymous", kv_list{""}).entries.empty();
  }));
  CHECK(detects_mutant("changes_not_filtered", [] {
    acl_driver d;
    d.set("hidden");
    return d.read<change_rows>("anonymous", kv_changes{{""}, change_position{log_index{1}}}).list.empty();
  }));
}

TEST_CASE("transactions name each operation that is refused, and apply none") {
  acl_driver d;
  d.set("r");
  d.set("hidden");
  const auto secret = d.token(R"(key "w" { policy = "write" } key_prefix "r" { policy = "read" })");
  CHECK(
      errors_of(d.apply_as(secret, txn{{op(kv_verb::set, "w"), op(kv_verb::set, "r"), op(kv_verb::set, "hidden")}})) ==
      texts{"1 Permission denied", "2 Permission denied"});
  CHECK_FALSE(d.get("w"));
  CHECK(errors_of(d.apply_as(
            secret, txn{{op(kv_verb::check_index, "hidden"), op(kv_verb::check_session, "hidden"),
                         op(kv_verb::check_not_exists, "r"), op(kv_verb::remove_tree, "r"), op(kv_verb::set, "")}})) ==
        texts{"0 Permission denied", "1 Permission denied", "2 Permission denied", "3 Permission denied",
              "4 Must provide key"});
  // Rows that are read and may not be seen are left out of the results.
  const auto done = std::get<txn_reply>(
      d.apply_as(secret, txn{{op(kv_verb::set, "w"), op(kv_verb::get, "r"), op(kv_verb::get, "hidden")}}));
  CHECK(done.errors.empty());
  CHECK(done.results.size() == 2);
  const auto read = d.read<txn_reply>(secret, txn_read{{{op(kv_verb::get_tree, "r"), op(kv_verb::get, "hidden")}}});
  CHECK(read.errors.empty());
  CHECK(read.results.size() == 1);
  CHECK(d.read<txn_reply>(secret, txn_read{{{op(kv_verb::get, "r"), op(kv_verb::check_index, "hidden")}}})
            .errors.size() == 1);
}

// B20: 200 or 409 would reveal whether any row exists.
TEST_CASE("a transaction does not reveal whether a row exists to a token without permission", "[B20]") {
  acl_driver d;
  d.set("r");
  d.set("there");
  catalog_register r;
  r.node.node = "n";
  r.node.address = "10.0.0.1";
  r.service.emplace();
  r.service->id = "there";
  r.service->service = "there";
  check_record c;
  c.check_id = c.name = "there";
  c.service_id = "there";
  r.checks = {c};
  d.apply(r);
  const auto secret =
      d.token(R"(key "r" { policy = "read" } node "n" { policy = "read" } service "web" { policy = "read" })");
  const auto received = [&](const std::string& who, txn_op each) {
    const auto a = d.read<txn_reply>(who, txn_read{{{op(kv_verb::get, "r"), std::move(each), op(kv_verb::get, "r")}}});
    return std::pair(a.results.size(), errors_of(reply{a}));
  };
  const auto node = [](const std::string& name) {
    return node_op{catalog_verb::get, [&] {
                     node_record n;
                     n.node = name;
                     return n;
                   }()};
  };
  const auto service = [](const std::string& id, const std::string& name) {
    service_op o{catalog_verb::get, {}};
    o.service.node = "n";
    o.service.id = id;
    o.service.service = name;
    return o;
  };
  const auto check = [](const std::string& id) {
    check_op o{catalog_verb::get, {}};
    o.check.node = "n";
    o.check.check_id = id;
    return o;
  };
  const std::pair<std::size_t, texts> nothing{2, {}};
  CHECK(received(secret, op(kv_verb::get, "there")) == nothing);
  CHECK(received(secret, op(kv_verb::get, "absent")) == nothing);
  CHECK(received(secret, node("absent")) == nothing);
  CHECK(received(secret, service("there", "")) == nothing);
  CHECK(received(secret, service("absent", "")) == nothing);
  CHECK(received(secret, service("there", "web")) == nothing);
  CHECK(received(secret, service("absent", "web")) == nothing);
  CHECK(received(secret, check("there")) == nothing);
  CHECK(received(secret, check("absent")) == nothing);
  // Other errors keep their position.
  const auto mixed = d.read<txn_reply>(secret, txn_read{{{op(kv_verb::get, "absent"), op(kv_verb::get, "there"),
                                                          op(kv_verb::check_not_exists, "x"), op(kv_verb::get, "r")}}});
  CHECK(errors_of(reply{mixed}) == texts{"2 Permission denied"});
  const auto wider = d.token(R"(key_prefix "r" { policy = "read" })");
  CHECK(errors_of(reply{d.read<txn_reply>(
            wider, txn_read{{{op(kv_verb::get, "absent"), op(kv_verb::get, "r/absent"), op(kv_verb::get, "r")}}})}) ==
        texts{"1 key \"r/absent\" doesn't exist"});
  // A token that may see it gets it.
  const auto all = d.token(
      R"(key_prefix "" { policy = "read" } node_prefix "" { policy = "read" } service_prefix "" { policy = "read" })");
  CHECK(received(all, op(kv_verb::get, "there")).first == 3);
  CHECK(received(all, op(kv_verb::get, "absent")).second.size() == 1);
  CHECK(received(all, node("absent")).second.size() == 1);
  CHECK(received(all, service("absent", "")).second.size() == 1);
  CHECK(received(all, check("there")).first == 3);
  CHECK(received(all, check("absent")).second.size() == 1);
}

TEST_CASE("a listing in a transaction that reads needs list, if the configuration requires it", "[B21]") {
  acl_driver d;
  d.set("a/1");
  const auto reads = d.token(R"(key_prefix "a/" { policy = "read" })");
  const auto lists = d.token(R"(key_prefix "a/" { policy = "list" })");
  query q = txn_read{{{op(kv_verb::get, "a/1"), op(kv_verb::get_tree, "a/")}}};
  CHECK(d.read<txn_reply>(reads, q).results.size() == 2);
  q.lists_need_permission = true;
  CHECK(errors_of(reply{d.read<txn_reply>(reads, q)}) == texts{"1 Permission denied"});
  CHECK(d.read<txn_reply>(lists, q).results.size() == 2);
}

TEST_CASE("a lock delay is not revealed to a token without permission for the key") {
  acl_driver d;
  const auto s = d.open(1, 10'000);
  d.acquire("k", s);
  d.close(s);
  const auto other = d.open(2);
  auto lock = op(kv_verb::lock, "k");
  lock.session = other;
  CHECK(errors_of(d.apply_as("anonymous", txn{{lock}})) == texts{"0 Permission denied"});
  CHECK(errors_of(d.apply_as(management_secret, txn{{lock}})) == texts{"0 failed to lock key \"k\" due to lock delay"});
}

TEST_CASE("permissions on sessions are those on their nodes; unknown sessions are answered first") {
  acl_driver d;
  const auto mine = d.token(R"(session "n" { policy = "write" } session "m" { policy = "read" })");
  const auto s = d.open(1);
  d.add_node("m");
  d.add_node("q");
  session_create c;
  c.session.id = uuid(2);
  c.session.node = "m";
  CHECK(d.denied(mine, c) == denied);
  CHECK(d.refused(d.apply(c)).empty());
  c.session.id = uuid(3);
  c.session.node = "n";
  CHECK(d.denied(mine, c).empty());
  c.session.id = uuid(4);
  c.session.node = "q";
  CHECK(d.refused(d.apply(c)).empty());

  const auto ids = [](const sessions& found) { return names_of_rows(found.list, [](const auto& e) { return e->id; }); };
  CHECK(ids(d.read<sessions>(mine, session_list{})) == texts{s, uuid(2), uuid(3)});
  CHECK(d.read<sessions>(mine, session_info{uuid(4)}).list.empty());
  CHECK(d.read<sessions>(mine, session_node{"q"}).list.empty());
  CHECK(d.denied(mine, session_destroy{{uuid(2)}, ""}) == denied);
  CHECK(d.denied(mine, session_destroy{{s, uuid(4)}, ""}) == denied);
  CHECK(d.session(s));
  CHECK(d.denied(mine, session_destroy{{uuid(77)}, ""}).empty());
  CHECK(d.denied(mine, session_destroy{{s}, ""}).empty());
  using of = permission_needed::of;
  CHECK_FALSE(d.may(mine, {of::session_owner, acl::permission::write, uuid(2), false}));
  CHECK(d.may(mine, {of::session_owner, acl::permission::read, uuid(2), false}));
  CHECK(d.may(mine, {of::session_owner, acl::permission::write, uuid(77), false}));
}

TEST_CASE("registrations need permissions for what they change, and for what they overwrite") {
  acl_driver d;
  const auto web = d.token(R"(service "web" { policy = "write" } node "new" { policy = "write" })");
  const auto node = d.token(R"(node "n" { policy = "write" })");
  d.add_service("n", "w1", "web");
  d.add_service("n", "d1", "db");
  d.add_check("n", "alive", "passing");

  CHECK(d.denied(web, service_on("n", "w2", "web")).empty());
  CHECK(d.denied(web, service_on("n", "x", "db")) == denied);
  CHECK(d.denied(web, service_on("n", "d1", "web")) == denied);
  CHECK(d.denied(web, node_named("n", "10.0.0.2")) == denied);
  CHECK(d.denied(web, service_on("unknown", "w", "web")) == denied);
  CHECK(d.denied(web, service_on("new", "w", "web")).empty());
  auto elsewhere = service_on("n", "w3", "web");
  elsewhere.node.address = "10.9.9.9";
  CHECK(d.denied(web, elsewhere) == denied);
  elsewhere.skip_node_update = true;
  CHECK(d.denied(web, elsewhere).empty());

  CHECK(d.denied(web, check_on("n", "c", "w1")).empty());
  CHECK(d.denied(web, check_on("n", "c", "d1")) == denied);
  CHECK(d.denied(web, check_on("n", "c", "gone")) == "Unknown service 'gone' for check 'c'");
  CHECK(d.denied(web, check_on("n", "c2")) == denied);
  // A check of the node cannot be taken over by naming a service.
  CHECK(d.denied(web, check_on("n", "alive", "w1")) == denied);
  auto together = service_on("n", "w9", "web");
  together.checks = check_on("n", "c9", "w9").checks;
  CHECK(d.denied(web, together).empty());

  CHECK(d.denied(node, node_named("n", "10.0.0.3")).empty());
  CHECK(d.denied(node, service_on("n", "x", "db")) == denied);
  CHECK(d.denied(node, check_on("n", "c3")).empty());
  CHECK(d.denied("anonymous", catalog_register{}) == "Must provide node");
}

TEST_CASE("no token can take over a node by its ID or by the case of its name") {
  acl_driver d;
  auto victim = node_named("victim");
  victim.node.id = uuid(1);
  d.apply(victim);
  const auto mine = d.token(R"(node "mine" { policy = "write" } node "VICTIM" { policy = "write" })");
  auto renamed = node_named("mine");
  renamed.node.id = uuid(1);
  CHECK(d.denied(mine, renamed) == denied);
  CHECK(d.denied(mine, node_named("VICTIM")) == denied);
  CHECK(d.denied(mine, catalog_deregister{"VICTIM", "", ""}) == denied);
  node_op o;
  o.node = renamed.node;
  CHECK(errors_of(d.apply_as(mine, txn{{o}})) == texts{"0 Permission denied"});
  CHECK(d.node_known("victim"));
}

TEST_CASE("deregistrations need the node, or the removed service") {
  acl_driver d;
  d.add_service("n", "w1", "web");
  d.add_service("n", "d1", "db");
  d.add_check("n", "alive", "passing");
  d.add_check("n", "of web", "passing", "w1");
  const auto web = d.token(R"(service "web" { policy = "write" })");
  CHECK(d.denied(web, catalog_deregister{"n", "d1", ""}) == denied);
  CHECK(d.denied(web, catalog_deregister{"n", "gone", ""}) == "Unknown service 'gone'");
  CHECK(d.denied(web, catalog_deregister{"n", "", "gone"}) == "Unknown check 'gone'");
  CHECK(d.denied(web, catalog_deregister{"n", "", "alive"}) == denied);
  CHECK(d.denied(web, catalog_deregister{"n", "", ""}) == denied);
  CHECK(d.denied(web, catalog_deregister{"n", "", "of web"}).empty());
  CHECK(d.denied(web, catalog_deregister{"n", "w1", ""}).empty());
  const auto node = d.token(R"(node "n" { policy = "write" })");
  CHECK(d.denied(node, catalog_deregister{"n", "gone", ""}).empty());
  CHECK(d.denied(node, catalog_deregister{"n", "d1", ""}).empty());
  CHECK(d.denied(node, catalog_deregister{"n", "", ""}).empty());
  CHECK_FALSE(d.node_known("n"));
}

TEST_CASE("operations of transactions on the catalog are authorized by the rows, not by their texts") {
  acl_driver d;
  d.add_service("n", "w1", "web");
  d.add_service("n", "d1", "db");
  d.add_check("n", "alive", "passing");
  d.add_check("n", "of db", "passing", "d1");
  const auto web = d.token(R"(service "web" { policy = "write" } node "m" { policy = "write" })");
  const auto service = [](catalog_verb verb, const std::string& id, const std::string& name) {
    service_op o;
    o.verb = verb;
    o.service.node = "n";
    o.service.id = id;
    o.service.service = name;
    return o;
  };
  const auto check = [](catalog_verb verb, const std::string& id, const std::string& service_id,
                        const std::string& name) {
    check_op o;
    o.verb = verb;
    o.check.node = "n";
    o.check.check_id = id;
    o.check.service_id = service_id;
    o.check.service_name = name;
    return o;
  };
  node_op node;
  node.node.node = "n";
  node.node.address = "10.0.0.9";
  CHECK(errors_of(d.apply_as(web, txn{{
                                      node,
                                      service(catalog_verb::set, "d1", "web"),
                                      service(catalog_verb::remove, "d1", "web"),
                                      check(catalog_verb::set, "new", "d1", "web"),
                                      check(catalog_verb::set, "alive", "w1", "web"),
                                      check(catalog_verb::remove, "of db", "w1", "web"),
                                      check(catalog_verb::set, "new", "", ""),
                                  }}))
            .size() == 7);
  node.node.node = "m";
  const auto done = d.apply_as(web, txn{{
                                        node,
                                        service(catalog_verb::set, "w2", "web"),
                                        check(catalog_verb::set, "c", "w2", "web"),
                                        service(catalog_verb::remove, "w1", "web"),
                                        service(catalog_verb::get, "d1", "db"),
                                    }});
  CHECK(errors_of(done).empty());
  // The rows of db may not be read, and those of the others may.
  CHECK(std::get<txn_reply>(done).results.size() == 3);
}

TEST_CASE("catalog and health show nodes and services that may be read") {
  acl_driver d;
  d.add_service("n", "w1", "web");
  d.add_service("n", "d1", "db");
  d.add_service("m", "w1", "web");
  d.add_check("n", "alive", "passing");
  d.add_check("n", "of db", "passing", "d1");
  d.add_check("m", "alive", "passing");
  const auto secret = d.token(R"(node "n" { policy = "read" } service "web" { policy = "read" })");
  const auto node_of = [](const auto& row) { return row->node; };
  const auto node_of_instance = [](const auto& row) { return row.node->node; };

  CHECK(names_of_rows(d.read<nodes>(secret, catalog_nodes{}).list, node_of) == texts{"n"});
  CHECK(d.read<service_names>(secret, catalog_services{}).tags_by_service.size() == 1);
  CHECK(names_of_rows(d.read<service_instances>(secret, catalog_service{"web", {}, {}}).list, node_of_instance) ==
        texts{"n"});
  CHECK(d.read<service_instances>(secret, catalog_service{"db", {}, {}}).list.empty());
  CHECK(names_of_rows(d.read<service_instances>(secret, health_service{"web", {}, {}}).list, node_of_instance) ==
        texts{"n"});
  const auto of_node = d.read<node_services>(secret, catalog_node{"n"});
  CHECK(of_node.node);
  CHECK(of_node.services.size() == 1);
  CHECK(of_node.some_hidden);
  const auto everything = d.token(R"(node_prefix "" { policy = "read" } service_prefix "" { policy = "read" })");
  CHECK_FALSE(d.read<node_services>(everything, catalog_node{"n"}).some_hidden);
  CHECK_FALSE(d.read<node_services>(secret, catalog_node{"m"}).node);
  const auto check_of = [](const auto& row) { return row->node + "/" + row->check_id; };
  CHECK(names_of_rows(d.read<checks>(secret, health_state{"any", {}}).list, check_of) == texts{"n/alive"});
  CHECK(names_of_rows(d.read<checks>(secret, health_node{"n"}).list, check_of) == texts{"n/alive"});
  CHECK(d.read<checks>(secret, health_checks{"db", {}}).list.empty());
  CHECK(d.ask(secret, catalog_nodes{}).index == d.m.evaluate(catalog_nodes{}).index);
}

// docs/contract/10, section 1: an invalid token comes first, then permissions, then the request.
TEST_CASE("an invalid id is reported to tokens that may read or write") {
  acl_driver d;
  const auto reader = d.token(R"(acl = "read")"), writer = d.token(R"(acl = "write")"), other = d.token("");
  const std::pair<query, std::string> reads[] = {
      {acl_policy_read{{"xx", ""}}, "policy"}, {acl_role_read{{"xx", ""}}, "role"}, {acl_token_read{"xx"}, "token"}};
  for (const auto& [q, kind] : reads) {
    INFO(kind);
    CHECK(d.refused_read("nobody's", q) == "ACL not found");
    CHECK(d.refused_read(other, q) == "Permission denied");
    CHECK(d.refused_read(reader, q) == "failed acl " + kind + " lookup: index error: UUID must be 36 characters");
  }
  const std::pair<command, std::string> writes[] = {
      {acl_policy_delete{"xx"}, "policy"},
      {acl_role_delete{"xx"}, "role"},
      {acl_token_clone{"xx", uuid(901), uuid(902), std::nullopt, 1}, "token"}};
  for (const auto& [c, kind] : writes) {
    INFO(kind);
    CHECK(d.denied("nobody's", c) == "ACL not found");
    CHECK(d.denied(reader, c) == "Permission denied");
    CHECK(d.denied(writer, c) == "failed acl " + kind + " lookup: index error: UUID must be 36 characters");
  }
}

TEST_CASE("coordinates of nodes that may be read") {
  acl_driver d;
  d.add_service("n", "w1", "web");
  d.add_service("m", "w1", "web");
  coordinates::table t;
  for (const auto* node : {"n", "m"})
    t.put(std::make_shared<const coordinates::row>(coordinates::row{node, {}, {}, 9}));
  d.m.set_coordinates(std::make_shared<const coordinates::table>(t));
  const auto secret = d.token(R"(node "n" { policy = "read" })");
  const auto node_of = [](const auto& row) { return row->node; };
  CHECK(names_of_rows(d.read<coordinate_rows>(secret, coordinate_nodes{}).list, node_of) == texts{"n"});
  CHECK(names_of_rows(d.read<coordinate_rows>(secret, coordinate_node{"n", {}}).list, node_of) == texts{"n"});
  CHECK(std::holds_alternative<refusal>(d.ask(secret, coordinate_node{"m", {}}).data));
  CHECK(std::holds_alternative<refusal>(d.ask(secret, coordinate_node{"unknown", {}}).data));
}

// 600 instances, each shown with 800 checks, are refused. A client that may see one of them on
// another node must get it, and must not learn from a refusal how many there are.
TEST_CASE("no request is rejected for the size of rows that its token may not see") {
  acl_driver d;
  auto many = service_on("n", "s0", "web");
  for (int i = 0; i < 800; ++i) {
    check_record c;
    c.check_id = c.name = "c" + std::to_string(i);
    c.status = "passing";
    many.checks.push_back(c);
  }
  d.apply(many);
  for (int i = 1; i < 600; ++i)
    d.apply(service_on("n", "s" + std::to_string(i), "web"));
  d.apply(service_on("m", "s0", "web"));

  const auto all = d.token(R"(node_prefix "" { policy = "read" } service_prefix "" { policy = "read" })");
  CHECK(d.refused_read(all, health_service{"web", {}, {}}).starts_with("Answer too large: "));
  const auto few = d.token(R"(node "m" { policy = "read" } service "web" { policy = "read" })");
  CHECK(d.read<service_instances>(few, health_service{"web", {}, {}}).list.size() == 1);
  const auto nothing = d.token(R"(key "a" { policy = "read" })");
  CHECK(d.read<service_instances>(nothing, health_service{"web", {}, {}}).list.empty());
}

TEST_CASE("settings, archives and ACLs need operator and acl") {
  acl_driver d;
  d.allowed_by_default = true;
  const auto reads = d.token(R"(operator = "read" acl = "read")");
  const auto writes = d.token(R"(operator = "write" acl = "write")");
  CHECK(d.refused_read(reads, autopilot_get{}).empty());
  CHECK(d.denied(reads, autopilot_set{}) == denied);
  CHECK(d.denied(writes, autopilot_set{}).empty());
  const auto nothing = d.token(R"(operator = "deny")");
  CHECK(d.refused_read(nothing, autopilot_get{}) == denied);

  const std::vector<command> writing = {acl_policy_set{},   acl_policy_delete{}, acl_role_set{},
                                        acl_role_delete{},  acl_token_set{},     acl_token_clone{},
                                        acl_token_delete{}, restore_begin{},     restore_abort{}};
  for (const auto& c : writing) {
    CHECK(d.denied(reads, c) == denied);
    CHECK(d.denied(nothing, c) == denied); // no default policy allows it
    CHECK(d.denied(writes, c) != denied);
  }
  const std::string id = uuid(77);
  for (const auto& q : {query(acl_policy_list{}), query(acl_policy_read{{id, {}}}), query(acl_role_list{}),
                        query(acl_role_read{{id, {}}}), query(acl_token_list{}), query(acl_token_read{id})}) {
    CHECK(d.refused_read(nothing, q) == denied);
    CHECK(d.read<acl_rows>(reads, q).shows_secrets == false);
    CHECK(d.read<acl_rows>(writes, q).shows_secrets);
  }
  CHECK(d.refused_read(nothing, acl_legacy_list{}) == denied);
  CHECK(d.refused_read(reads, acl_legacy_list{}) == denied); // it shows secrets
  CHECK(d.read<acl_rows>(writes, acl_legacy_list{}).list.size() == 1);
  const auto self = d.read<acl_rows>(nothing, acl_token_self{});
  REQUIRE(self.list.size() == 1);
  CHECK(self.shows_secrets);
  CHECK(std::get<acl_token_ptr>(self.list.front().row)->secret == nothing);
  CHECK(d.refused_read("anonymous", acl_token_self{}) == unknown);
  CHECK(d.denied(writes, acl_token_delete{d.accessor_of(writes)}) ==
        "Deletion of the request's authorization token is not permitted");
}

TEST_CASE("an archive is restored on behalf of a token with permission, and not of one that lost it") {
  acl_driver d;
  d.set("before");
  std::vector<dirty_row> rows;
  for (auto& row : d.m.all_rows())
    rows.push_back(std::move(row));
  const auto secret = d.token(R"(acl = "write")");
  d.set("after");
  CHECK(d.denied(secret, restore_begin{"r", d.index()}).empty());
  CHECK(d.denied(secret, restore_rows{"r", 0, std::make_shared<const std::vector<dirty_row>>(rows)}).empty());
  d.apply(acl_token_delete{d.accessor_of(secret)});
  CHECK(d.denied(secret, restore_commit{"r", 1}) == unknown);
  CHECK(d.get("after"));
  CHECK(d.denied(management_secret, restore_commit{"r", 1}).empty());
  CHECK_FALSE(d.get("after"));
}

TEST_CASE("the permissions of a token are sent to the server that decides") {
  acl_driver d;
  const auto secret = d.token(R"(
    agent "a" { policy = "read" } event "e" { policy = "write" } query "q" { policy = "read" }
    key_prefix "k" { policy = "write" } key "k/x" { policy = "read" } node "n" { policy = "write" }
    service "s" { policy = "read" } session "n" { policy = "write" } keyring = "read" operator = "write" acl = "read")");
  using of = permission_needed::of;
  using acl::permission;
  const permissions_read requested{{
      {of::agent, permission::read, "a"},
      {of::agent, permission::write, "a"},
      {of::event, permission::write, "e"},
      {of::query, permission::write, "q"},
      {of::key, permission::write, "k/"},
      {of::key, permission::write, "k/", true},
      {of::node, permission::write, "n"},
      {of::node, permission::read, "m"},
      {of::service, permission::write, "s"},
      {of::session, permission::read, "n"},
      {of::keyring, permission::read, ""},
      {of::keyring, permission::write, ""},
      {of::operators, permission::write, ""},
      {of::acl, permission::read, ""},
      {of::acl, permission::write, ""},
      {of::key, permission::list, "k/x"},
      {of::key, permission::deny, "k"},
  }};
  const auto received = d.read<permissions>(secret, requested);
  CHECK(received.allowed == std::vector<bool>{true, false, true, false, true, false, true, false, false, true, true,
                                              false, true, true, false, false, false});
  REQUIRE(received.may);
  CHECK(received.may->event_write("e"));
  const auto own = std::get<permissions>(d.m.evaluate(requested).data);
  CHECK(std::all_of(own.allowed.begin(), own.allowed.end(), [](bool yes) { return yes; }));
  CHECK_FALSE(own.may);
}

TEST_CASE("the same request with two tokens is not shared") {
  query a = kv_get{"k"}, b = kv_get{"k"};
  CHECK(same_question(a, b));
  a.by = auth_context{"s", true, "dc1"};
  CHECK_FALSE(same_question(a, b));
  b.by = a.by;
  CHECK(same_question(a, b));
  b.lists_need_permission = true;
  CHECK_FALSE(same_question(a, b));
}
