#include "tests/unit/protocol/state/claims/claims_driver.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::state;

namespace {

kv_op left(kv_verb verb, const std::string& key, const std::string& value = {}, std::uint64_t at = 0) {
  kv_op op;
  op.verb = verb;
  op.key = key;
  op.value = make_payload(value);
  op.index = log_index{at};
  return op;
}

std::string begin(claims_driver& d, int n, std::vector<kv_op> ops, std::int64_t ttl_ms = 0,
                  session_ttl_mode mode = session_ttl_mode::lower_bound) {
  d.add_node("n");
  session_begin c;
  c.session.id = uuid(n);
  c.session.node = "n";
  c.session.ttl_ns = ttl_ms * 1'000'000;
  c.ttl_mode = mode;
  c.on_end = std::move(ops);
  const auto r = d.apply(c);
  const auto* id = std::get_if<std::string>(&r);
  return id != nullptr ? *id : claims_driver::response(r);
}

ended_session_ptr ended_session_of(const claims_driver& d, const std::string& id) {
  const auto rows = std::get<ended_session_rows>(d.m.evaluate(session_ended{id}).data);
  return rows.list.empty() ? nullptr : rows.list.front();
}

} // namespace

// docs/reference/claims.md, rule 17: "A dead semaphore holder withholds its own permits"; a dead
// reader withholds the lock from writers.
TEST_CASE("delayed holders of semaphores withhold their own permits") {
  const auto withholds = [] {
    claims_driver d;
    const auto a = d.open(1, 5000), b = d.open(2);
    d.asks("x", a, "a", permits(2, 5));
    d.close(a);
    const bool rest = d.asks("x", b, "b", permits(3)) == "held";
    const auto c = d.open(3);
    const bool more = d.asks("x", c, "c", permits(1)) == "waiting 1";
    d.pass(5000);
    d.alarm();
    return rest && more && d.granted() == texts{"x:c"};
  };
  CHECK(withholds());
  CHECK(detects_mutant("ghost_withholds_everything", withholds));
  CHECK(detects_mutant("ghosts_not_looked_at", withholds));
}

TEST_CASE("delayed holders that were readers block writers only; without a lock delay there are none") {
  claims_driver d;
  const auto a = d.open(1, 5000), b = d.open(2), c = d.open(3);
  d.asks("x", a, "a", shared());
  d.close(a);
  CHECK(d.asks("x", b, "b", shared()) == "held");
  CHECK(d.asks("x", c, "c", writer()) == "waiting 1");
  d.drops("x", "b");
  CHECK(d.holders("x").empty());
  CHECK(d.view("x").delays.size() == 1);
  d.pass(4999);
  d.alarm();
  CHECK(d.holders("x").empty());
  d.pass(1);
  d.alarm();
  CHECK(d.holders("x") == texts{"c"});
  d.close(c);
  CHECK_FALSE(d.view("x").known);
}

// Rule 18: "it removes the waiting claims, whose parked requests get 404 with the cause".
TEST_CASE("the end of a session ends its claims and waits, and grants to others, in one entry") {
  const auto gone = [] {
    claims_driver d;
    const auto a = d.open(1), b = d.open(2), c = d.open(3);
    d.asks("x", a, "a");
    d.asks("y", b, "b");
    d.asks("y", a, "w");
    d.asks("y", c, "c");
    d.asks("x", c, "v");
    d.apply(session_destroy{{a}, "ttl"});
    return d.waiters("y") == texts{"c"} && d.holders("x") == texts{"v"} && d.ended("y", "w") == "session" &&
           d.ended("x", "a") == "session" && d.standing("y", "w").ended->cause == "ttl";
  };
  CHECK(gone());
  CHECK(detects_mutant("claim_of_dead_session_stays", gone));
}

// Rule 19: "`set cas add delete delete-cas delete-tree` only, <= 64 operations and 64 KiB".
TEST_CASE("OnEnd: accepted operations") {
  struct row {
    const char* name;
    std::vector<kv_op> ops;
    std::string response;
  };
  const row rows[] = {
      {"nothing", {}, uuid(1)},
      {"a set", {left(kv_verb::set, "a")}, uuid(1)},
      {"64", std::vector<kv_op>(64, left(kv_verb::set, "a")), uuid(1)},
      {"65", std::vector<kv_op>(65, left(kv_verb::set, "a")), "parameter OnEnd"},
      {"large", {left(kv_verb::set, "a", std::string(64 * 1024, 'v'))}, "parameter OnEnd"},
      {"a lock", {left(kv_verb::lock, "a")}, "parameter OnEnd"},
      {"an unlock", {left(kv_verb::unlock, "a")}, "parameter OnEnd"},
      {"a read", {left(kv_verb::get, "a")}, "parameter OnEnd"},
      {"no key", {left(kv_verb::set, "")}, "parameter OnEnd"},
      {"everything", {left(kv_verb::remove_tree, "")}, uuid(1)},
  };
  for (const auto& r : rows) {
    INFO(r.name);
    claims_driver d;
    CHECK(begin(d, 1, r.ops) == r.response);
  }
}

TEST_CASE("OnEnd: each operation by itself, before locks are released") {
  claims_driver d;
  d.set("tree/a");
  d.set("tree/b");
  d.set("c", "old");
  const auto s = begin(d, 1,
                       {left(kv_verb::set, "a", "bye"), left(kv_verb::cas, "c", "new", 999),
                        left(kv_verb::remove_tree, "tree/"), left(kv_verb::remove, "lock")});
  const auto b = d.open(2);
  d.acquire("lock", s);
  CHECK(d.queues("lock", b) == "waiting 1");
  d.close(s);
  CHECK(*d.get("a")->value == "bye");
  CHECK(*d.get("c")->value == "old");
  CHECK(d.keys("tree/").empty());
  CHECK(d.get("lock")->session == b);
  CHECK(d.get("lock")->create_index == d.index()); // deleted, and created by the next holder
  const auto row = ended_session_of(d, s);
  CHECK(row->on_end_done == 3);
  CHECK(row->on_end_refused == 1);
  CHECK(row->released.empty()); // it had deleted its lock
  CHECK(d.sound());
}

// Rule 20: "At least 100 ms."
TEST_CASE("exact TTLs") {
  claims_driver d;
  CHECK(begin(d, 1, {}, 0, session_ttl_mode::exact) == "parameter TTL");
  CHECK(begin(d, 1, {}, 99, session_ttl_mode::exact) == "parameter TTL");
  const auto s = begin(d, 1, {}, 100, session_ttl_mode::exact);
  CHECK(d.session(s)->ttl_mode == session_ttl_mode::exact);
}

// Rule 22: "a replicated ring of 10,000: cause ..., index, time, what it released".
TEST_CASE("sessions that ended are remembered with their cause") {
  claims_driver d;
  d.alarm(); // claims are in use
  d.add_check("n", "web", "passing");
  const auto relying = [&](int n) {
    session_create c;
    c.session.id = uuid(n);
    c.session.node = "n";
    c.session.node_checks = std::vector<std::string>{"web"};
    d.apply(c);
    return uuid(n);
  };
  const auto a = d.open(1), b = relying(2), e = relying(3), f = d.open(4);
  d.asks("x", a, "a");
  d.acquire("k", a);
  d.apply(session_destroy{{a}, "destroyed"});
  const auto row = ended_session_of(d, a);
  REQUIRE(row);
  CHECK(row->cause == "destroyed");
  CHECK(row->index == d.index());
  CHECK(row->at == d.now);
  CHECK(row->released == std::vector<resource_name>{{"k", claim_space::keys}, {"x", claim_space::claims}});
  CHECK(row->released_count == 2);
  d.add_check("n", "web", "critical");
  CHECK(ended_session_of(d, b)->cause == "check web critical");
  CHECK(ended_session_of(d, e)->number == ended_session_of(d, b)->number + 1);
  d.drop("n");
  CHECK(ended_session_of(d, f)->cause == "node deregistered");
  CHECK_FALSE(ended_session_of(d, uuid(77)));
}

TEST_CASE("the ring has ten thousand sessions, and the oldest are dropped first") {
  claims_driver d;
  d.alarm();
  for (int i = 1; i <= static_cast<int>(ended_sessions_max) + 1; ++i)
    d.close(d.open(i));
  CHECK_FALSE(ended_session_of(d, uuid(1)));
  CHECK(ended_session_of(d, uuid(2)));
  const auto bounded = [&d, n = 20'000]() mutable {
    for (int i = 0; i < 2; ++i)
      d.close(d.open(++n));
    std::size_t rows = 0;
    for (const auto& row : d.m.all_rows())
      rows += row.table == table::ended_sessions;
    return rows == ended_sessions_max;
  };
  CHECK(detects_mutant("ended_sessions_without_bound", bounded));
}
