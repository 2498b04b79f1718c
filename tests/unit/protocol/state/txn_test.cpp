#include "protocol/state/answer_size.hpp"
#include "tests/unit/protocol/state/driver.hpp"

#include <catch2/catch.hpp>

#include <chrono>

using namespace belay;
using namespace belay::state;

namespace {

kv_op key_op(kv_verb verb, const std::string& key, const std::string& value = {}, std::uint64_t index = 0,
             const std::string& session = {}) {
  return op_on(verb, key, value, index, session);
}

txn_reply run(driver& d, std::vector<txn_op> ops) {
  return std::get<txn_reply>(d.apply(txn{std::move(ops)}));
}

kv_entry_ptr entry(const txn_reply& r, std::size_t i) {
  return std::get<kv_entry_ptr>(r.results.at(i).row);
}

} // namespace

TEST_CASE("txn_order: later operations see the effects of earlier ones, all at one index") {
  driver d;
  const auto r =
      run(d, {key_op(kv_verb::set, "a", "1"), key_op(kv_verb::get, "a"), key_op(kv_verb::set, "a", "2"),
              key_op(kv_verb::get, "a"), key_op(kv_verb::remove, "a"), key_op(kv_verb::check_not_exists, "a"),
              key_op(kv_verb::set, "a", "3"), key_op(kv_verb::set, "b/c", "4"), key_op(kv_verb::get_tree, "b")});
  CHECK(r.errors.empty());
  REQUIRE(r.results.size() == 7);
  CHECK(*entry(r, 1)->value == "1");
  CHECK(r.results[1].with_value);
  CHECK_FALSE(r.results[0].with_value);
  CHECK(*entry(r, 3)->value == "2");
  CHECK(entry(r, 6)->key == "b/c");
  CHECK(d.get("a")->modify_index == log_index{1});
  CHECK(d.get("b/c")->modify_index == log_index{1});
}

TEST_CASE("txn_rollback: one failure undoes everything and every failure is reported") {
  driver d;
  const auto s = d.open(1, 1000);
  d.set("a", "old");
  d.acquire("held", s);
  d.set("t/1");
  d.remove("t/1");
  d.set("t/2");
  const auto digest = d.m.digest();
  const auto rows = d.m.all_rows().size();
  const auto t_index = d.prefix_index("t/"), root = d.prefix_index("");
  node_op gone;
  gone.verb = catalog_verb::remove;
  gone.node.node = "n";
  const auto r =
      run(d, {key_op(kv_verb::set, "a", "new"), key_op(kv_verb::remove, "a"), key_op(kv_verb::set, "b", "new"),
              key_op(kv_verb::cas, "c", "new", 99), key_op(kv_verb::remove_tree, "t/"), gone,
              key_op(kv_verb::get, "held"), key_op(kv_verb::remove_tree, ""), key_op(kv_verb::get, "none")});
  REQUIRE(r.errors.size() == 2);
  CHECK(r.results.empty());
  CHECK(r.errors[0].op_index == 3);
  CHECK(r.errors[0].what == "failed to set key \"c\", index is stale");
  CHECK(r.errors[1].op_index == 8);
  CHECK(r.errors[1].what == "key \"none\" doesn't exist");
  CHECK(d.changed.empty());
  CHECK(*d.get("a")->value == "old");
  CHECK(d.get("b") == nullptr);
  CHECK(d.get("held")->session == s);
  CHECK(d.session(s));
  CHECK(d.node_known("n"));
  CHECK_FALSE(d.m.locked_out_until("held"));
  CHECK(d.prefix_index("t/") == t_index);
  CHECK(d.prefix_index("") == root);
  CHECK(d.m.digest() == digest);
  CHECK(d.m.all_rows().size() == rows);
  CHECK(d.m.digest() == d.m.recompute_digest());
  d.close(s); // the index from sessions to keys was restored too
  CHECK(d.get("held")->session.empty());
}

TEST_CASE("txn error texts of keys") {
  driver d;
  const auto s = d.open(1), t = d.open(2);
  d.set("a", "1");
  const auto at = d.index();
  d.acquire("l", s);
  struct row {
    kv_op op;
    std::string text;
  };
  const row rows[] = {
      {key_op(kv_verb::cas, "a", "x", 0), "failed to set key \"a\", index is stale"},
      {key_op(kv_verb::cas, "b", "x", 5), "failed to set key \"b\", index is stale"},
      {key_op(kv_verb::lock, "l", "x", 0, t), "failed to lock key \"l\", lock is already held"},
      {key_op(kv_verb::lock, "l"), "missing session"},
      {key_op(kv_verb::lock, "l", "", 0, "abc"), "failed session lookup: index error: UUID must be 36 characters"},
      {key_op(kv_verb::lock, "l", "", 0, uuid(9)), "invalid session \"" + uuid(9) + "\""},
      {key_op(kv_verb::unlock, "l"), "missing session"},
      {key_op(kv_verb::unlock, "l", "", 0, t),
       "failed to unlock key \"l\", lock isn't held, or is held by another session"},
      {key_op(kv_verb::get, "none"), "key \"none\" doesn't exist"},
      {key_op(kv_verb::check_index, "a", "", 1),
       "failed index check for key \"a\", current modify index " + to_string(at) + " != 1"},
      {key_op(kv_verb::check_index, "none", "", 1), "failed to check index, key \"none\" doesn't exist"},
      {key_op(kv_verb::check_session, "l", "", 0, t),
       "failed session check for key \"l\", current session \"" + s + "\" != \"" + t + "\""},
      {key_op(kv_verb::check_session, "none", "", 0, t), "failed to check session, key \"none\" doesn't exist"},
      {key_op(kv_verb::check_not_exists, "a"), "key \"a\" exists"},
      {key_op(kv_verb::remove_cas, "a", "", 1), "failed to delete key \"a\", index is stale"},
      {key_op(kv_verb::set, ""), "Must provide key"},
      {key_op(kv_verb::get_tree, ""), "Must provide key"},
  };
  for (const auto& r : rows) {
    const auto answer = run(d, {r.op});
    REQUIRE(answer.errors.size() == 1);
    CHECK(answer.errors[0].what == r.text);
    CHECK(d.changed.empty());
  }
}

TEST_CASE("first stage: argument errors and lock delays hide the errors of the second") {
  driver d;
  const auto s = d.open(1, 1000), t = d.open(2);
  d.acquire("l", s);
  d.close(s);
  const std::vector<txn_op> ops = {key_op(kv_verb::get, "none"), key_op(kv_verb::set, "x", "1"),
                                   key_op(kv_verb::lock, "l", "", 0, t), key_op(kv_verb::set, "")};
  const auto early = d.m.refuse_early(txn{ops}, d.now);
  REQUIRE(early);
  const auto r = run(d, ops);
  REQUIRE(r.errors.size() == 2);
  CHECK(r.errors[0].op_index == 2);
  CHECK(r.errors[0].what == "failed to lock key \"l\" due to lock delay");
  CHECK(r.errors[1].op_index == 3);
  CHECK(std::get<txn_reply>(*early).errors.size() == 2);
  CHECK(d.get("x") == nullptr);
  d.pass(1000);
  CHECK(run(d, {key_op(kv_verb::lock, "l", "", 0, t)}).errors.empty());
}

TEST_CASE("txn_read answers without the log and never writes") {
  driver d;
  d.set("t/a", "1");
  d.set("t/b", "2");
  const auto read = [&](std::vector<txn_op> ops) {
    return std::get<txn_reply>(d.m.evaluate(txn_read{txn{std::move(ops)}}).data);
  };
  auto r = read({key_op(kv_verb::get, "t/a"), key_op(kv_verb::get_tree, "t/"), key_op(kv_verb::get_tree, "none")});
  CHECK(r.errors.empty());
  REQUIRE(r.results.size() == 3);
  CHECK(*entry(r, 2)->value == "2");
  CHECK(read({key_op(kv_verb::set, "t/a", "x")}).errors.size() == 1);
  CHECK(*d.get("t/a")->value == "1");
  CHECK(read({}).results.empty());
}

TEST_CASE("txn of nodes, services and checks: results and error texts") {
  driver d;
  const auto node = [](catalog_verb v, const std::string& name, std::uint64_t index = 0) {
    node_op op;
    op.verb = v;
    op.node.node = name;
    op.node.address = "10.0.0." + std::to_string(index + 1);
    op.node.modify_index = log_index{index};
    return op;
  };
  const auto service = [](catalog_verb v, const std::string& id, const std::string& name, std::uint64_t index = 0) {
    service_op op;
    op.verb = v;
    op.service.node = "n";
    op.service.id = id;
    op.service.service = name;
    op.service.port = static_cast<std::int64_t>(index);
    op.service.modify_index = log_index{index};
    return op;
  };
  const auto check = [](catalog_verb v, const std::string& id, const std::string& status, std::uint64_t index = 0,
                        const std::string& service_id = {}) {
    check_op op;
    op.verb = v;
    op.check.node = "n";
    op.check.check_id = id;
    op.check.status = status;
    op.check.service_id = service_id;
    op.check.modify_index = log_index{index};
    return op;
  };
  const auto error = [&](txn_op op) {
    const auto r = run(d, {std::move(op)});
    return r.errors.size() == 1 ? r.errors[0].what : "no error";
  };
  using v = catalog_verb;

  CHECK(error(service(v::set, "w1", "web")) == "Missing node registration");
  CHECK(error(check(v::set, "c", "passing")) == "Missing node registration");
  CHECK(error(node(v::get, "n")) == "node \"n\" doesn't exist");
  CHECK(error(node(v::cas, "n", 5)) == "failed to set node \"n\", index is stale");
  CHECK(error(node(v::remove_cas, "n", 5)) == "failed to delete node \"n\", index is stale");
  CHECK(error(node(v::set, "")) == "Must provide node");

  const auto r = run(d, {node(v::set, "n"), service(v::set, "", "web"), check(v::set, "alive", "")});
  REQUIRE(r.errors.empty());
  REQUIRE(r.results.size() == 3);
  const auto at = d.index();
  CHECK(std::get<node_ptr>(r.results[0].row)->modify_index == at);
  CHECK(std::get<service_ptr>(r.results[1].row)->id == "web");
  CHECK(std::get<check_ptr>(r.results[2].row)->status == "critical");

  CHECK(error(node(v::cas, "n", 1)) == "failed to set node \"n\", index is stale");
  CHECK(error(service(v::cas, "web", "web", 1)) == "failed to set service \"web\" on node \"n\", index is stale");
  CHECK(error(check(v::cas, "alive", "", 1)) == "failed to set check \"alive\" on node \"n\", index is stale");
  CHECK(error(service(v::remove_cas, "web", "web", 1)) ==
        "failed to delete service \"web\" on node \"n\", index is stale");
  CHECK(error(check(v::remove_cas, "alive", "", 1)) ==
        "failed to delete check \"alive\" on node \"n\", index is stale");
  CHECK(error(service(v::remove, "web", "")) == "Must provide service name with ID");
  CHECK(error(service(v::get, "w9", "")) == "service \"w9\" on node \"n\" doesn't exist");
  CHECK(error(check(v::get, "c9", "")) == "check \"c9\" on node \"n\" doesn't exist");
  CHECK(error(check(v::set, "c", "passing", 0, "none")) == "Missing service registration");

  CHECK(run(d, {node(v::cas, "n", at.value)}).errors.empty());
  CHECK(
      run(d, {service(v::remove, "web", "web"), check(v::remove, "alive", ""), node(v::remove, "n")}).results.empty());
  CHECK_FALSE(d.node_known("n"));
}

// One request that named a tree of 20 MB 64 times was answered with 1.7 GB in one text. It took
// five seconds without any other response, and three gigabytes of memory outside all budgets.
TEST_CASE("a transaction reads at most 30,000 rows, and does not read a larger tree to its end", "[B6]") {
  driver d;
  const auto fill = [&](const std::string& prefix, std::size_t rows) {
    txn t;
    for (std::size_t i = 0; i < rows; ++i)
      t.ops.emplace_back(key_op(kv_verb::set, prefix + std::to_string(i), "v"));
    d.apply(t);
  };
  fill("t/a/", txn_answer_rows_max - 1);
  fill("t/b/", 1);
  fill("t/c/", 1);
  const auto trees = [](std::vector<std::string> prefixes, std::vector<txn_op> ops = {}) {
    for (const auto& p : prefixes)
      ops.emplace_back(key_op(kv_verb::get_tree, p));
    return txn{std::move(ops)};
  };
  const std::vector<txn_op> write = {key_op(kv_verb::set, "w", "1")};
  const auto refused = [&](const query& q) { return std::holds_alternative<refusal>(d.m.evaluate(q).data); };
  CHECK_FALSE(refused(txn_read{trees({"t/a/", "t/b/"})}));
  CHECK(refused(txn_read{trees({"t/a/", "t/b/", "t/c/"})}));
  CHECK(refused(txn_read{trees({"t/"})}));
  CHECK_FALSE(d.m.refuse_early(trees({"t/a/", "t/b/"}, write), d.now));
  CHECK(d.m.refuse_early(trees({"t/a/", "t/b/", "t/c/"}, write), d.now));

  // Rejecting a larger tree takes no longer: the shortest of some runs each.
  const auto best = [&](const txn& t) {
    auto shortest = std::chrono::steady_clock::duration::max();
    for (int i = 0; i < 9; ++i) {
      const auto began = std::chrono::steady_clock::now();
      CHECK(refused(txn_read{t}));
      shortest = std::min(shortest, std::chrono::steady_clock::now() - began);
    }
    return shortest;
  };
  const auto small = best(trees({"t/"}));
  fill("t/d/", 15 * txn_answer_rows_max);
  CHECK(best(trees({"t/"})) < 5 * small);
}

TEST_CASE("a transaction that would read too much is refused before it is carried out", "[B6]") {
  driver d;
  for (int i = 0; i < 10; ++i)
    d.apply(kv_write{key_op(kv_verb::set, "t/" + std::to_string(i), std::string(500'000, 'v'))});
  const auto trees = [](int n, std::vector<txn_op> ops = {}) {
    for (int i = 0; i < n; ++i)
      ops.emplace_back(key_op(kv_verb::get_tree, "t/"));
    return txn{std::move(ops)};
  };
  const std::vector<txn_op> write = {key_op(kv_verb::set, "w", "1")};
  // 6.7 MB each, with base64: nine of them fit into 64 MiB.
  CHECK(std::get<txn_reply>(d.m.evaluate(txn_read{trees(9)}).data).results.size() == 90);
  CHECK_FALSE(d.m.refuse_early(trees(9, write), d.now));
  const auto found = d.m.evaluate(txn_read{trees(64)});
  const auto* no = std::get_if<refusal>(&found.data);
  REQUIRE(no != nullptr);
  CHECK(no->text.starts_with("Answer too large: a transaction reads about "));
  CHECK(no->text.ends_with("max size: 67108864 bytes."));
  const auto early = d.m.refuse_early(trees(64, write), d.now);
  REQUIRE(early);
  CHECK(std::get<refusal>(*early).text.starts_with("Answer too large: "));
  CHECK(d.m.refuse_early(fenced_txn{trees(64, write)}, d.now));
  // Single keys count, too: the reply to a forwarded write must fit a frame.
  const auto gets = [](int n, std::vector<txn_op> ops) {
    ops.insert(ops.end(), static_cast<std::size_t>(n), key_op(kv_verb::get, "t/0"));
    return txn{std::move(ops)};
  };
  CHECK_FALSE(d.m.refuse_early(gets(10, trees(9, write).ops), d.now)); // 63.6 MiB
  CHECK(d.m.refuse_early(gets(11, trees(9, write).ops), d.now));
  // An entry in the log is decided as before, and a retry gets the stored response.
  CHECK(run(d, trees(64, write).ops).errors.empty());
  command keyed = trees(64, write);
  keyed.once = once_request{};
  CHECK_FALSE(d.m.refuse_early(keyed, d.now));
}

// Each row of the catalog counted as 400 bytes, but a check may have 4 MB.
TEST_CASE("a transaction that would read too many bytes of the catalog is refused", "[B6]") {
  driver d;
  d.add_node("n");
  check_record c;
  c.node = "n";
  c.check_id = c.name = "alive";
  c.status = "passing";
  c.output = std::string(4'000'000, 'x');
  REQUIRE(run(d, {check_op{catalog_verb::set, c}}).errors.empty());
  c.output.clear();
  const auto reads = [&](std::size_t n) { return std::vector<txn_op>(n, check_op{catalog_verb::get, c}); };
  const auto refused = [&](std::size_t n) {
    return std::holds_alternative<refusal>(d.m.evaluate(txn_read{{reads(n)}}).data);
  };
  CHECK_FALSE(refused(16));
  CHECK(refused(17));
  auto with_write = reads(17);
  with_write.emplace_back(key_op(kv_verb::set, "w", "1"));
  CHECK(d.m.refuse_early(txn{with_write}, d.now));
  with_write.pop_back();
  CHECK(run(d, with_write).results.size() == 17); // in the log
}
