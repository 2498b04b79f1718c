#include "protocol/state/acl/permissions.hpp"
#include "tests/harness/cpu_time.hpp"
#include "tests/unit/protocol/state/claims/claims_driver.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>

using namespace belay;
using namespace belay::state;

namespace {

std::string hands(claims_driver& d, const std::string& name, const std::string& id, const std::string& to = {}) {
  return claims_driver::response(d.apply(claim_transfer{name, id, to}));
}

} // namespace

// docs/reference/claims.md, rule 30: a transfer goes to the head of the queue, or "overtakes on purpose".
TEST_CASE("transfer of a claim") {
  claims_driver d;
  const auto a = d.open(1), b = d.open(2), c = d.open(3);
  d.asks("x", a, "a", of_kind(claim_kind::election));
  CHECK(hands(d, "x", "a") == "no-waiter");
  d.asks("x", b, "b");
  d.asks("x", c, "c");
  CHECK(hands(d, "x", "b") == "not-held");
  CHECK(hands(d, "x", "a", "nobody") == "unknown-claim");
  CHECK(hands(d, "x", "a", "a") == "unknown-claim");
  const auto fence = d.fence("x", "a");
  CHECK(hands(d, "x", "a", "c") == "held");
  CHECK(d.holders("x") == texts{"c"});
  CHECK(d.waiters("x") == texts{"b"});
  CHECK(d.fence("x", "c") > fence);
  CHECK(d.ended("x", "a") == "handed-over");
  CHECK(d.granted() == texts{"x:c"});
  CHECK(hands(d, "x", "a") == "ended handed-over");
  CHECK(hands(d, "x", "c") == "held");
  CHECK(d.holders("x") == texts{"b"});
  d.asks("s", a, "a", permits(1, 1));
  d.asks("s", b, "b", permits(1));
  CHECK(hands(d, "s", "a") == "kind");
}

TEST_CASE("mutants of transfer") {
  CHECK(detects_mutant("transfer_to_the_head", [] {
    claims_driver d;
    const auto a = d.open(1), b = d.open(2), c = d.open(3);
    d.asks("x", a, "a");
    d.asks("x", b, "b");
    d.asks("x", c, "c");
    hands(d, "x", "a", "c");
    return d.holders("x") == texts{"c"};
  }));
  CHECK(detects_mutant("transfer_closes_cycle", [] {
    claims_driver d;
    const auto a = d.open(1), b = d.open(2), c = d.open(3);
    d.asks("x", a, "a");
    d.asks("y", b, "y");
    d.asks("x", b, "b");
    d.asks("x", c, "c");
    d.asks("y", c, "w", refusing());
    return hands(d, "x", "a", "c") == "deadlock";
  }));
}

// Rule 30: it is rejected "if it closes a cycle that holds a `refuse` claim".
TEST_CASE("a transfer that overtakes may close a cycle") {
  for (const bool refuses : {false, true}) {
    claims_driver d;
    const auto a = d.open(1), b = d.open(2), c = d.open(3);
    d.asks("x", a, "a");
    d.asks("y", b, "y");
    d.asks("x", b, "b");                                                     // b has y and waits for x
    d.asks("x", c, "c");                                                     // c queues after it
    d.asks("y", c, "w", [&](claim_ask& q) { q.refuse_deadlock = refuses; }); // and waits for y
    // With x, c would wait for b, and b for c.
    CHECK(hands(d, "x", "a", "c") == (refuses ? "deadlock" : "held"));
    CHECK(d.holders("x") == texts{refuses ? "a" : "c"});
    CHECK(d.waiters("x") == (refuses ? texts{"b", "c"} : texts{"b"}));
    CHECK(d.changed.empty() == refuses);
    CHECK(d.sound());
  }
}

// Rule 31: the edges of the wait-for graph; "KV waits count and accept `deadlock=refuse`".
TEST_CASE("a cycle is refused and shown") {
  const auto refused = [] {
    claims_driver d;
    const auto a = d.open(1), b = d.open(2);
    d.asks("x", a);
    d.asks("y", b);
    d.asks("y", a);
    const auto r = d.ask("x", b, {}, refusing());
    const auto* no = std::get_if<claim_refusal>(&r);
    return no != nullptr && no->why == claim_error::deadlock &&
           no->cycle == std::vector<wait_edge>{{b, b, {"x", claim_space::claims}, false, a, true},
                                               {a, a, {"y", claim_space::claims}, false, b, true}} &&
           d.waiters("x").empty() && d.asks("x", b) == "waiting 1" && d.sound();
  };
  CHECK(refused());
  CHECK(detects_mutant("deadlock_not_looked_for", refused));
}

TEST_CASE("cycles through queues, through locks of keys, and through a larger priority") {
  claims_driver d;
  const auto a = d.open(1), b = d.open(2), c = d.open(3), e = d.open(4);
  d.queue("k", a);
  d.queue("k", b);
  d.asks("x", c);
  d.asks("x", a);                                                                 // a waits for c
  CHECK(claims_driver::response(d.queue("k", c, 1000, "v", true)) == "deadlock"); // c after a's lock
  CHECK(d.waiters("k", claim_space::keys) == texts{b});
  CHECK(claims_driver::response(d.queue("k", e, 1000, "v", true)) == "waiting 2");
  // e queues after b. If b waited for what e holds, both would wait.
  d.asks("z", e);
  CHECK(d.asks("z", b, {}, refusing()) == "deadlock");
  // Readers do not wait for each other.
  d.asks("rw", a, {}, shared());
  d.asks("rw2", b, {}, shared());
  CHECK(d.asks("rw", b, {}, [](claim_ask& q) {
    shared()(q);
    q.refuse_deadlock = true;
  }) == "held");
  // Waiters with a smaller priority wait for a later one with a larger priority.
  claims_driver p;
  const auto f = p.open(1), g = p.open(2), h = p.open(3);
  p.asks("x", f);
  p.asks("y", g);
  p.asks("x", g);
  p.asks("y", h);
  CHECK(p.asks("x", h, {}, [](claim_ask& q) {
    priority(9)(q);
    q.refuse_deadlock = true;
  }) == "deadlock");
  CHECK(p.asks("x", h, {}, refusing()) == "waiting 2"); // after g, for which it waits anyway
}

TEST_CASE("the graph of waits costs what its waits cost, however many claims are held") {
  const auto cost = [](int held) {
    claims_driver d;
    const auto a = d.open(1), b = d.open(2);
    for (int i = 0; i < held; ++i)
      d.asks("x" + std::to_string(i), a);
    d.asks("x7", b);
    const auto least = harness::least_cpu_time([&] {
      if (std::get<wait_graph>(d.m.evaluate(claims_graph{}).data).edges.size() != 1)
        std::abort();
    });
    d.drops("x7", b);
    CHECK(std::get<wait_graph>(d.m.evaluate(claims_graph{}).data).edges.empty());
    return least;
  };
  CHECK(harness::holds_once([&] { return cost(10'000) < 10 * cost(50); })); // 200 times the claims
}

// Rule 32: "The search visits at most 10,000 nodes in a fixed order", then finds "none".
TEST_CASE("a search that exceeds its limit is reported") {
  claims_driver d;
  const auto a = d.open(1);
  d.asks("x", a, {}, permits(1, 1));
  for (int i = 0; i < static_cast<int>(waiters_max) - 1; ++i)
    d.asks("x", d.open(10 + i), {}, permits(1));
  const auto b = d.open(2), c = d.open(3);
  d.asks("y", d.open(4));
  d.asks("y", b);
  d.asks("x", b, {}, permits(1));
  const auto r = d.ask("y", c, {}, refusing());
  REQUIRE(std::holds_alternative<claim_answer>(r));
  CHECK(std::get<claim_answer>(r).search_cut);
  const auto graph = std::get<wait_graph>(d.m.evaluate(claims_graph{}).data);
  CHECK(graph.cut);
  CHECK(graph.edges.size() == graph_nodes_max);
}

namespace {

/// The CPU time of this thread.
std::chrono::nanoseconds cpu_now() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

/// `n` sessions hold all permits of a semaphore, and `n` others those of a second one; each of the
/// first waits for the second: n * n waits. The sessions of the first are 10'000 and up.
void fill_two_semaphores(claims_driver& d, int n) {
  for (int i = 0; i < n; ++i)
    d.asks("a", d.open(10'000 + i), {}, permits(1, static_cast<std::uint64_t>(n)));
  for (int i = 0; i < n; ++i)
    d.asks("b", d.open(20'000 + i), {}, permits(1, static_cast<std::uint64_t>(n)));
  for (int i = 0; i < n; ++i)
    d.asks("b", uuid(10'000 + i), {}, permits(1));
}

command from_client(claim_ask ask) {
  command c = std::move(ask);
  c.client_address = "192.0.2.1";
  return c;
}

claim_ask refusing_ask(const std::string& name, const std::string& session) {
  claim_ask ask;
  ask.name = name;
  ask.session = session;
  ask.kind = claim_kind::semaphore;
  ask.refuse_deadlock = true;
  return ask;
}

} // namespace

// A tenant filled two semaphores with thousands of holders, let each of the first wait for the
// second, and claimed with `deadlock=refuse`. The search took 32 s in apply(), on every server.
TEST_CASE("a search through n waiters and n holders does not cost n times n", "[B5]") {
  const auto cost = [](int n) {
    claims_driver d;
    fill_two_semaphores(d, n);
    const auto asking = d.open(1);
    const auto begin = cpu_now();
    const auto r = d.apply(refusing_ask("a", asking));
    const auto spent = cpu_now() - begin;
    CHECK(claims_driver::response(r) == "waiting 1");
    CHECK_FALSE(std::get<claim_answer>(r).search_cut);
    return spent;
  };
  const auto of = [&](int n) { return std::min({cost(n), cost(n), cost(n)}); };
  const auto small = of(250), large = of(2000);
  CHECK(large < 24 * small); // 8 times as many: 8 times the cost, or 64 times
}

// Rule 32: entries of 0.2.0 get the same result at each replay; others have a smaller bound.
TEST_CASE("from level 8 on a search examines at most 10,000 claims", "[B5]") {
  const int n =
      4500; // 4,500 holders with two claims each, 4,500 others with one, which wait in a line: more than 10,000
  claims_driver d;
  fill_two_semaphores(d, n);
  const auto asking = d.open(1);
  int next = 2;
  const auto unnamed = d.apply(refusing_ask("a", asking));
  REQUIRE(std::holds_alternative<claim_answer>(unnamed));
  CHECK_FALSE(std::get<claim_answer>(unnamed).search_cut);
  const auto is_cut = [&] {
    const auto named = d.apply(from_client(refusing_ask("a", d.open(next++))));
    return std::get<claim_answer>(named).search_cut;
  };
  CHECK(is_cut());
  CHECK(detects_mutant("deadlock_search_without_bound", is_cut));
  CHECK(d.sound());
}

// Where the search skips a claim of the waiting session itself, that session must not count as
// visited.
TEST_CASE("a session that waits where it holds is found by the next waiter") {
  claims_driver d;
  const auto a = d.open(1), b = d.open(2), c = d.open(3);
  d.asks("s", a, "a1", permits(1, 2));
  d.asks("s", c, "c1", permits(1));
  d.asks("z", b);
  d.asks("z", c);                   // c waits for b
  d.asks("s", b, "b1", permits(1)); // b waits for a and c
  // a would wait for c and b, not for itself; b already waits for what a holds.
  CHECK(d.asks("s", a, "a2", [](claim_ask& q) {
    permits(1)(q);
    q.refuse_deadlock = true;
  }) == "deadlock");
  CHECK(d.sound());
}

// Rule 33: "Permission is checked at the request". Rule 32: unreadable names are `hidden`.
TEST_CASE("permissions of claims", "[B14][B17][B18]") {
  acl_driver d;
  const auto s = d.open(10), t = d.open(11);
  const auto writer = d.token("key \"x\" { policy = \"write\" } key_prefix \"g/\" { policy = \"write\" }");
  const auto reader = d.token("key \"x\" { policy = \"read\" } key_prefix \"g/\" { policy = \"read\" }");
  const auto nobody = d.token("");
  const auto keeper =
      d.token("key_prefix \"\" { policy = \"write\" } operator = \"write\" session_prefix \"\" { policy = \"write\" }");
  const auto ask = [](const std::string& name, const std::string& session) {
    claim_ask c;
    c.name = name;
    c.session = session;
    return c;
  };
  kv_acquire acquire;
  acquire.op.verb = kv_verb::lock;
  acquire.op.key = "x";
  acquire.op.session = s;
  acquire.wait_ms = 1000;
  const fenced_write fenced{acquire.op, {{"x", claim_space::claims}, 1}};
  const std::vector<command> writes = {ask("x", s),
                                       claim_transfer{"x", s, {}},
                                       claim_mode_set{"x", s, claim_mode::shared},
                                       claim_release{"x", s},
                                       claim_limit_set{"x", 3},
                                       claim_limit_unset{"x"},
                                       acquire,
                                       fenced,
                                       guard_set{"g/", {"x", claim_space::claims}},
                                       guard_remove{"g/", 77}};
  for (const auto& c : writes) {
    INFO(c.index());
    CHECK(d.denied(writer, c).empty());
    CHECK(d.denied(reader, c) == permission_denied);
    CHECK(d.denied(nobody, c) == permission_denied);
  }
  CHECK(d.denied(writer, guard_remove{"g/", 0}) == permission_denied);
  CHECK(d.denied(keeper, guard_remove{"g/", 0}).empty());
  // B14: others' claims or keys cannot guard a client's prefix, except in entries of 0.2.0.
  for (const auto space : {claim_space::claims, claim_space::keys}) {
    command guard = guard_set{"g/", {"of others", space}};
    CHECK(d.denied(writer, guard).empty());
    guard.client_address = "192.0.2.1";
    const auto refused = [&] { return d.denied(writer, guard) == permission_denied; };
    CHECK(refused());
    CHECK(detects_mutant("guard_by_keys_of_others", refused));
    d.apply(guard_remove{"g/", 0}); // set by the mutant
    CHECK(d.denied(keeper, guard).empty());
    command own = guard_set{"g/", {"x", space}};
    own.client_address = "192.0.2.1";
    CHECK(d.denied(writer, own).empty());
  }
  CHECK(d.denied(keeper, claims_alarm{}) == permission_denied); // only the leader proposes it
  session_begin leaving;
  leaving.session.id = uuid(12);
  leaving.session.node = "n";
  kv_op op;
  op.key = "y";
  leaving.on_end = {op};
  const auto sessions_only = d.token("session_prefix \"\" { policy = \"write\" }");
  CHECK(d.denied(sessions_only, leaving) == permission_denied);
  CHECK(d.denied(keeper, leaving).empty());

  d.apply(ask("secret", s));
  d.apply(ask("x2", t));
  d.apply(ask("x2", s));
  auto closing = ask("secret", t);
  closing.refuse_deadlock = true;
  CHECK(d.refused_read(reader, claim_read{{"x", claim_space::claims}}).empty());
  CHECK(d.refused_read(nobody, claim_read{{"x", claim_space::claims}}) == permission_denied);
  CHECK(d.refused_read(nobody, claim_status{{"x", claim_space::claims}, s}) == permission_denied);
  CHECK(d.read<claim_rows>(nobody, claims_list{}).list.empty());
  CHECK(d.read<claim_rows>(keeper, claims_list{}).list.size() == 3); // the lock of x is held, as its key shows
  // B17: without permission for names and sessions nothing is visible.
  CHECK(d.read<wait_graph>(nobody, claims_graph{}).edges.empty());
  const auto graph = d.read<wait_graph>(d.token("session_prefix \"\" { policy = \"read\" }"), claims_graph{});
  REQUIRE(graph.edges.size() == 1);
  CHECK(graph.edges[0].hidden);
  CHECK(graph.edges[0].on.name.empty());
  CHECK(graph.edges[0].id.empty());
  CHECK_FALSE(graph.edges[0].session.empty());
  const auto named = d.read<wait_graph>(d.token("key \"x2\" { policy = \"read\" }"), claims_graph{});
  REQUIRE(named.edges.size() == 1);
  CHECK(named.edges[0].on.name == "x2");
  CHECK_FALSE(named.edges[0].id.empty());
  CHECK(named.edges[0].session.empty());
  CHECK(named.edges[0].blocker.empty());
  const auto secret_writer = d.token("key \"secret\" { policy = \"write\" }");
  const auto r = d.apply_as(secret_writer, closing);
  const auto& cycle = std::get<claim_refusal>(r).cycle;
  REQUIRE(cycle.size() == 2);
  CHECK_FALSE(cycle[0].hidden);
  CHECK(cycle[1].hidden);
  // Rule 22: `destroyed by` the token's accessor.
  d.apply_as(keeper, session_destroy{{t}, "destroyed"});
  CHECK(d.read<ended_session_rows>(keeper, session_ended{t}).list.at(0)->cause ==
        "destroyed by " + d.accessor_of(keeper));
  CHECK(d.read<ended_session_rows>(nobody, session_ended{t}).list.empty());
  // B18: of what it held, only names that may be read.
  const auto ended = d.read<ended_session_rows>(
      d.token("key \"x2\" { policy = \"read\" } session_prefix \"\" { policy = \"read\" }"), session_ended{t});
  REQUIRE(ended.list.size() == 1);
  for (const auto& name : ended.list[0]->released)
    CHECK(name.name == "x2");
  CHECK(ended.list[0]->released.size() == 1);
  CHECK(d.read<ended_session_rows>(d.token("session_prefix \"\" { policy = \"read\" }"), session_ended{t})
            .list.at(0)
            ->released.empty());
  CHECK(d.read<ended_session_rows>(keeper, session_ended{t}).list.at(0)->released_count >= 1);
}

// B19: the response shows whether the fencing token is valid. As before for 0.2.0's entries.
TEST_CASE("a write with a fencing token needs the permission to read its lock or claim, at the request", "[B19]") {
  acl_driver d;
  const auto s = d.open(10);
  kv_op op;
  op.key = "x";
  const auto writer = d.token("key \"x\" { policy = \"write\" }");
  const auto both = d.token("key \"x\" { policy = \"write\" } key \"secret\" { policy = \"read\" }");
  for (const auto space : {claim_space::claims, claim_space::keys}) {
    command requested = fenced_write{op, {{"secret", space}, 1}};
    requested.by = auth_context{writer, false, "dc1"};
    const auto no = d.m.refuses(requested, {});
    REQUIRE(no);
    CHECK(std::get<refusal>(*no).text == permission_denied);
    requested.by->secret = both;
    CHECK_FALSE(d.m.refuses(requested, {}));
    requested.by->secret = writer;
    std::get<fenced_write>(requested).fence.of.name = "x";
    CHECK_FALSE(d.m.refuses(requested, {}));
  }
  CHECK(d.denied(writer, fenced_write{op, {{"secret", claim_space::claims}, 1}}).empty());
}
