#include "protocol/state/outcomes/outcome_records.hpp"
#include "tests/unit/protocol/state/acl/acl_driver.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::state;

namespace {

kv_op adding(const std::string& key, std::int64_t amount = 1) {
  auto op = op_on(kv_verb::add, key, "");
  op.amount = amount;
  return op;
}

/// @param print fingerprint of the request
command once(const driver& d, const std::string& key, plain_command what, std::uint64_t print = 7) {
  command c;
  static_cast<plain_command&>(c) = std::move(what);
  c.once = once_request{key, {print, print}, d.now};
  return c;
}

std::string response(const reply& r) {
  std::string text = r.decided_at.is_zero() ? "" : "again: ";
  if (const auto* yes = std::get_if<bool>(&r))
    return text + (*yes ? "true" : "false");
  if (const auto* sum = std::get_if<kv_added>(&r))
    return text + std::to_string(sum->value);
  if (const auto* no = std::get_if<once_refusal>(&r))
    return text + std::string(name_of(no->why));
  if (const auto* no = std::get_if<refusal>(&r))
    return text + no->text;
  if (const auto* t = std::get_if<txn_reply>(&r))
    return text + std::to_string(t->results.size()) + " results, " + std::to_string(t->errors.size()) + " errors";
  if (const auto* id = std::get_if<std::string>(&r))
    return text + *id;
  return text + (std::holds_alternative<std::monostate>(r) ? "void" : "?");
}

std::string value_of(const driver& d, const std::string& key) {
  const auto entry = d.get(key);
  return entry ? std::string(*entry->value) : "none";
}

/// As a server writes it when all members have client_address_level.
command addressed(command c) {
  c.client_address = "192.0.2.1";
  return c;
}

outcome_ptr outcome(const driver& d, const std::string& key) {
  return std::get<outcome_view>(d.m.evaluate(outcome_read{key}).data).row;
}

std::string seals(driver& d, const std::string& key) {
  return response(d.apply(outcome_seal{key, d.now}));
}

} // namespace

TEST_CASE("a write that is sent again is answered as the first time, and does nothing") {
  driver d;
  CHECK(response(d.apply(once(d, "k1", kv_write{adding("n")}))) == "1");
  const auto decided = d.index();
  d.pass(1000);
  const auto again = d.apply(once(d, "k1", kv_write{adding("n")}));
  CHECK(response(again) == "again: 1");
  CHECK(again.decided_at == decided);
  CHECK(d.changed.empty());
  CHECK(value_of(d, "n") == "1");
  CHECK(response(d.apply(once(d, "k2", kv_write{adding("n")}))) == "2");
}

TEST_CASE("the decision of an entry is kept, even if it is false") {
  driver d;
  d.set("k");
  CHECK(response(d.apply(once(d, "c", kv_write{op_on(kv_verb::cas, "k", "w", 1000)}))) == "false");
  d.set("k", "w");
  const auto again = d.apply(once(d, "c", kv_write{op_on(kv_verb::cas, "k", "w", 1000)}));
  CHECK(response(again) == "again: false");
  CHECK(again.note.why == refused_for::index);
  // Now it would succeed: the first response stays.
  kv_op absent = op_on(kv_verb::cas, "new", "w", 5);
  CHECK(response(d.apply(once(d, "d", kv_write{absent}))) == "false");
  CHECK(outcome(d, "d")->answer != nullptr);
}

TEST_CASE("ids chosen for the first copy return") {
  driver d;
  d.add_node("n");
  session_create first, second;
  first.session.node = second.session.node = "n";
  first.session.id = uuid(1);
  second.session.id = uuid(2);
  CHECK(response(d.apply(once(d, "s", first))) == uuid(1));
  CHECK(response(d.apply(once(d, "s", second))) == "again: " + uuid(1));
  CHECK(d.session(uuid(2)) == nullptr);
}

TEST_CASE("a key that was used for another write is rejected") {
  driver d;
  d.apply(once(d, "k", kv_write{adding("a")}, 1));
  CHECK(response(d.apply(once(d, "k", kv_write{adding("b")}, 2))) == "other-request");
  CHECK(value_of(d, "b") == "none");
  CHECK(response(d.apply(once(d, "k", kv_write{adding("a")}, 1))) == "again: 1");
}

TEST_CASE("a sealed write has no effect, whenever it arrives") {
  driver d;
  CHECK(seals(d, "k") == "again: void");
  CHECK(outcome(d, "k")->answer == nullptr);
  CHECK(response(d.apply(once(d, "k", kv_write{adding("n")}))) == "sealed");
  CHECK(seals(d, "k") == "again: void");
  auto late = once(d, "k", kv_write{adding("n")}); // proposed now, and in flight
  d.pass(outcome_kept_ms - 1);
  late.once->requested = d.now;
  CHECK(response(d.apply(late)) == "sealed");
  CHECK(value_of(d, "n") == "none");
  // What took effect cannot be cancelled.
  d.apply(once(d, "done", kv_write{adding("n")}));
  CHECK(seals(d, "done") == "again: 1");
  CHECK(response(d.apply(once(d, "done", kv_write{adding("n")}))) == "again: 1");
}

TEST_CASE("outcomes are kept for ten minutes of cluster time, and copies are taken for five") {
  driver d;
  const auto first = once(d, "k", kv_write{adding("n")});
  d.apply(first);
  const auto seal_at = d.now;
  seals(d, "s");
  d.pass(outcome_kept_ms - 1);
  auto repeated = first;
  CHECK(response(d.apply(repeated)) == "again: 1"); // however old: it is known
  CHECK(outcome(d, "k") != nullptr);
  d.pass(1);
  // The first entry of that time removes the outcomes; a copy that was sent before is too old.
  CHECK(response(d.apply(first)) == "too-old");
  CHECK(outcome(d, "k") == nullptr);
  auto sealed = once(d, "s", kv_write{adding("n")});
  sealed.once->requested = seal_at;
  CHECK(response(d.apply(sealed)) == "too-old");
  CHECK(value_of(d, "n") == "1");
  CHECK(response(d.apply(outcome_seal{"s", seal_at})) == "too-old");

  auto on_the_way = once(d, "l", kv_write{adding("m")});
  d.pass(copy_accepted_ms - 1);
  CHECK(response(d.apply(on_the_way)) == "1");
  on_the_way.once->key = "m";
  d.pass(1);
  const auto no = d.apply(on_the_way);
  CHECK(response(no) == "too-old");
  CHECK(std::get<once_refusal>(no).now == d.now);
  on_the_way.once->requested.value = d.now.value + 1; // not a time of this cluster
  CHECK(response(d.apply(on_the_way)) == "too-old");
}

TEST_CASE("one entry forgets a thousand outcomes at most") {
  driver d;
  for (int i = 0; i < 2500; ++i)
    d.apply(once(d, "k" + std::to_string(i), kv_write{op_on(kv_verb::set, "a")}));
  d.pass(outcome_kept_ms);
  d.set("a");
  CHECK(d.m.outcomes_counted().count == 1500);
  d.set("a");
  d.set("a");
  CHECK(d.m.outcomes_counted().count == 0);
  CHECK(d.m.outcomes_counted().bytes == 0);
  CHECK(d.m.digest() == d.m.recompute_digest());
}

TEST_CASE("a transaction whose response is too large to be kept is not executed") {
  driver d;
  txn small, large;
  for (int i = 0; i < 40; ++i)
    (i < 5 ? small : large).ops.emplace_back(op_on(kv_verb::set, "key/" + std::string(100, 'x') + std::to_string(i)));
  CHECK(response(d.apply(once(d, "s", small))) == "5 results, 0 errors");
  CHECK(response(d.apply(once(d, "s", small))) == "again: 5 results, 0 errors");
  const auto keys = d.m.key_count();
  CHECK(response(d.apply(once(d, "l", large))) == "answer-size");
  CHECK(d.changed.empty());
  CHECK(d.m.key_count() == keys);
  CHECK(outcome(d, "l") == nullptr);
  CHECK(response(d.apply(large)) == "35 results, 0 errors"); // without a key
}

// One request named a tree of 100 MB 63 times. Each server read it as often, and copied it, in the
// entry, and again at each start.
TEST_CASE("a tree that is too large for a kept response is not read to its end, and the decision is the same") {
  driver d;
  for (int i = 0; i < 100; ++i)
    d.set("t/" + std::to_string(100 + i), std::string(20, 'x'));
  const auto trees = [](int n, std::vector<txn_op> more = {}) {
    txn t;
    t.ops.emplace_back(op_on(kv_verb::set, "w"));
    for (int i = 0; i < n; ++i)
      t.ops.emplace_back(op_on(kv_verb::get_tree, "t/"));
    t.ops.insert(t.ops.end(), more.begin(), more.end());
    return t;
  };
  for (const bool with_address : {true, false}) {
    INFO(with_address);
    const auto apply = [&](const std::string& key, const txn& t) {
      auto c = once(d, key + (with_address ? "" : "-old"), t);
      return d.apply(with_address ? addressed(c) : c);
    };
    const auto before = d.m.digest();
    CHECK(response(apply("k", trees(1))) == "answer-size");
    CHECK(response(apply("k", trees(63))) == "answer-size");
    CHECK(d.m.digest() == before);
    // An error of a later operation is the response, as it is small.
    const auto failed = apply("f", trees(61, {op_on(kv_verb::get, "none"), op_on(kv_verb::check_not_exists, "w")}));
    CHECK(response(failed) == "0 results, 2 errors");
    CHECK(std::get<txn_reply>(failed).errors.front().op_index == 62);
    CHECK(value_of(d, "w") == "none");
  }
}

TEST_CASE("a tree whose response is just small enough to be kept is kept whole") {
  driver d;
  for (int i = 0; i < 5; ++i)
    d.set("t/" + std::to_string(i), std::string(20, 'x'));
  d.set("t/last", "");
  const auto tree = op_on(kv_verb::get_tree, "t/");
  const auto found = d.m.evaluate(txn_read{{{tree}}});
  const auto free = kept_answer_bytes_max - outcome_bytes(reply(std::get<txn_reply>(found.data)));
  const txn t{{tree, op_on(kv_verb::remove, "w")}};
  d.set("t/last", std::string(free, 'x'));
  CHECK(response(d.apply(addressed(once(d, "fits", t)))) == "6 results, 0 errors");
  d.set("t/last", std::string(free + 1, 'x'));
  CHECK(response(d.apply(addressed(once(d, "large", t)))) == "answer-size");
}

// All rows were too large, so it was rolled back. The visible ones were not, so 200 was kept.
TEST_CASE("a transaction is not executed either if most of its response is hidden from its token") {
  acl_driver d;
  const auto secret = d.token(R"(key_prefix "a/" { policy = "write" } key "t/visible" { policy = "read" })");
  d.set("secret", std::string(5000, 'x'));
  d.set("t/hidden", std::string(5000, 'x'));
  d.set("t/visible", "1");
  d.apply(claims_alarm{d.now}); // the first command about claims leaves a mark
  for (const bool fenced : {false, true}) {
    INFO(fenced);
    std::vector<txn_op> ops{op_on(kv_verb::set, "a/x"), op_on(kv_verb::get, "secret")};
    const auto transaction = [&](const std::string& key) {
      auto c = fenced ? once(d, key, fenced_txn{{ops}}) : once(d, key, txn{ops});
      c.once->key += fenced ? "-fenced" : "";
      c.by = d.by(secret);
      return c;
    };
    const auto before = d.m.digest();
    for (int copy = 0; copy < 2; ++copy) {
      CHECK(response(d.apply(addressed(transaction("k")))) == "answer-size");
      CHECK(d.changed.empty());
      CHECK(d.m.digest() == before);
    }
    // An entry of 0.2.0 is decided as by 0.2.0.
    CHECK(response(d.apply(transaction("old"))) == "1 results, 0 errors");
    CHECK(response(d.apply(transaction("old"))) == "again: 1 results, 0 errors");
    CHECK(value_of(d, "a/x") == "none");
    ops.pop_back();
    // It shows the visible rows of a tree, wherever they are.
    ops.insert(ops.end(), 2, op_on(kv_verb::get_tree, "t/"));
    CHECK(response(d.apply(transaction("old-tree"))) == "3 results, 0 errors");
    CHECK(response(d.apply(addressed(transaction("tree")))) == "answer-size");
    ops.resize(1);
    CHECK(response(d.apply(addressed(transaction("k")))) == "1 results, 0 errors"); // the key was not used
    CHECK(value_of(d, "a/x") == "v");
    d.remove("a/x");
  }
}

// 413 said that it has had no effect, but it was carried out, and again with each copy.
TEST_CASE("a policy, role or token whose response is too large to be kept is not stored") {
  acl_driver d;
  std::vector<acl_link> sixty;
  for (int i = 0; i < 60; ++i)
    sixty.push_back({policy_in(d.set_policy("policy-" + std::to_string(i), "")).id, ""});
  const auto large_token = d.new_token(sixty);
  REQUIRE(d.refused(d.apply(large_token)).empty());
  const auto small = d.new_token();
  REQUIRE(d.refused(d.apply(small)).empty());

  acl_policy_set policy;
  policy.policy.id = uuid(1001);
  policy.policy.name = "large";
  policy.policy.description = std::string(4096, 'x');
  policy.fresh = true;
  acl_role_set role;
  role.role.id = uuid(1002);
  role.role.name = "large";
  role.policies = sixty;
  role.fresh = true;
  acl_token_clone clone;
  clone.of = large_token.token.accessor;
  clone.accessor = uuid(1003);
  clone.secret = uuid(1004);
  auto update = small;
  update.fresh = false;
  update.policies = sixty;
  const plain_command commands[] = {policy, role, d.new_token(sixty), clone, update};
  const auto by_manager = [&](const std::string& key, const plain_command& what) {
    auto c = once(d, key, what);
    c.by = d.by(management_secret);
    return c;
  };
  for (const auto& each : commands) {
    INFO(each.index());
    const auto before = d.m.digest();
    for (int copy = 0; copy < 2; ++copy) {
      CHECK(response(d.apply(addressed(by_manager("k", each)))) == "answer-size");
      CHECK(d.changed.empty());
      CHECK(d.m.digest() == before);
    }
    CHECK(outcome(d, "k") == nullptr);
  }
  const auto tokens = d.token_count();
  CHECK(response(d.apply(addressed(by_manager("k", d.new_token(sixty))))) == "answer-size");
  CHECK(d.token_count() == tokens);
  CHECK(token_in(d.apply(addressed(by_manager("k", d.new_token())))).policies.empty());
  CHECK(d.token_count() == tokens + 1);
  // Entries of 0.2.0 are decided as by 0.2.0.
  for (int copy = 1; copy <= 2; ++copy) {
    CHECK(response(d.apply(by_manager("old", d.new_token(sixty)))) == "answer-size");
    CHECK(d.token_count() == tokens + 1 + static_cast<std::size_t>(copy));
  }
}

TEST_CASE("values that a response does not show are not kept") {
  driver d;
  txn t;
  t.ops.emplace_back(op_on(kv_verb::set, "k", std::string(100'000, 'x')));
  CHECK(response(d.apply(once(d, "k", t))) == "1 results, 0 errors");
  CHECK(d.m.outcomes_counted().bytes < 2000);
}

TEST_CASE("each token has its own keys; a write without permission does not use its key") {
  acl_driver d;
  d.allowed_by_default = true;
  d.set_policy("none", "key_prefix \"\" { policy = \"read\" }");
  const auto as = [&](const std::string& secret, const std::string& key) {
    auto c = once(d, key, kv_write{adding("n")});
    c.by = d.by(secret);
    return response(d.apply(c));
  };
  CHECK(as(management_secret, "k") == "1");
  CHECK(as(std::string(anonymous_secret), "k") == "2"); // its own scope
  CHECK(as(management_secret, "k") == "again: 1");
  CHECK(as(std::string(anonymous_secret), "k") == "again: 2");
  CHECK(as("nobody's", "k") == "ACL not found");
  d.allowed_by_default = false;
  CHECK(as(std::string(anonymous_secret), "other") == "Permission denied");
  CHECK(as(std::string(anonymous_secret), "k") == "again: 2"); // it was done while it was permitted
  CHECK_FALSE(d.m.refuses(
      [&] {
        auto c = once(d, "k", kv_write{adding("n")});
        c.by = d.by(std::string(anonymous_secret));
        return c;
      }(),
      d.now));
  d.allowed_by_default = true;
  CHECK(as(std::string(anonymous_secret), "other") == "3");
  CHECK(d.read<outcome_view>(management_secret, outcome_read{"k"}).row->scope != anonymous_accessor);
  CHECK(d.read<outcome_view>(management_secret, outcome_read{"other"}).row == nullptr);
}

TEST_CASE("outcomes return from a checkpoint, with their responses") {
  driver d;
  d.apply(once(d, "a", kv_write{adding("n")}));
  seals(d, "b");
  machine copy;
  for (auto& row : d.m.all_rows())
    copy.load_row(std::move(row));
  copy.finish_load(d.index(), d.now);
  CHECK(copy.digest() == d.m.digest());
  effects changed;
  CHECK(response(copy.apply(d.index().next(), d.now, once(d, "a", kv_write{adding("n")}), changed)) == "again: 1");
  CHECK(response(copy.apply(copy.applied_index().next(), d.now, once(d, "b", kv_write{adding("n")}), changed)) ==
        "sealed");
}

TEST_CASE("the number of outcomes is limited, and none is dropped for another one") {
  driver d;
  d.m.finish_load(d.index(), d.now);
  // Rows as from a checkpoint, so that the test does not take minutes.
  for (std::size_t i = 0; i < outcomes_max; ++i) {
    auto row = std::make_shared<outcome_record>();
    row->id = "k" + std::to_string(i);
    row->index = log_index{1};
    row->key = outcome_key("", row->id);
    row->until.value = d.now.value + outcome_kept_ms;
    d.m.load_row({table::outcomes, row->key, outcome_ptr(row)});
    if (d.m.outcomes_counted().bytes >= outcome_bytes_max)
      break;
  }
  d.m.finish_load(d.index(), d.now);
  const auto counted = d.m.outcomes_counted();
  CHECK(response(d.apply(once(d, "new", kv_write{adding("n")}))) == "outcomes-full");
  CHECK(seals(d, "new") == "outcomes-full");
  CHECK(seals(d, "k0") == "again: void");
  CHECK(d.m.outcomes_counted().count == counted.count);
  CHECK(response(d.apply(kv_write{adding("n")})) == "1"); // without a key
}

TEST_CASE("a key is printable, short, and not a step of a path") {
  struct row {
    const char* name;
    std::string key;
    bool right;
  };
  const row rows[] = {
      {"uuid", "8e03978e-40d5-43dd-bc93-6894a57f9324", true},
      {"one byte", "x", true},
      {"64 bytes", std::string(64, 'x'), true},
      {"65 bytes", std::string(65, 'x'), false},
      {"nothing", "", false},
      {"blank", "a b", false},
      {"slash", "a/b", false},
      {"dots", "..", false},
      {"control", "a\x01", false},
      {"not ASCII", "\xc3\xa4", false},
  };
  for (const auto& r : rows) {
    INFO(r.name);
    CHECK(is_once_key(r.key) == r.right);
  }
}

TEST_CASE("a restore undoes effects, but not outcomes") {
  driver d;
  d.apply(once(d, "a", kv_write{adding("n")}));
  const auto archive = std::make_shared<const std::vector<dirty_row>>(d.m.all_rows());
  const auto restore = [&](driver& into) {
    into.apply(restore_begin{"r", log_index{1}});
    into.apply(restore_rows{"r", 0, archive});
    REQUIRE(response(into.apply(restore_commit{"r", 1})) == "true");
  };
  d.apply(once(d, "b", kv_write{adding("n")}));
  seals(d, "c");
  restore(d);
  CHECK(value_of(d, "n") == "1");
  CHECK(response(d.apply(once(d, "a", kv_write{adding("n")}))) == "again: 1");
  CHECK(response(d.apply(once(d, "b", kv_write{adding("n")}))) == "again: 2");
  CHECK(response(d.apply(once(d, "c", kv_write{adding("n")}))) == "sealed");
  CHECK(d.m.digest() == d.m.recompute_digest());

  // A cluster created from the archive, with another clock.
  driver other;
  other.pass(86'400'000);
  restore(other);
  CHECK(response(other.apply(once(other, "a", kv_write{adding("n")}))) == "again: 1");
  CHECK(outcome(other, "a")->until.value == other.now.value + outcome_kept_ms);
  CHECK(response(other.apply(once(other, "b", kv_write{adding("n")}))) == "2");
}
