#include "tests/unit/protocol/state/claims/claims_driver.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::state;

// docs/reference/claims.md, rule 1: a claim and the lock of the key of that name "are different resources".
TEST_CASE("a claim and the lock of a key with the same name are independent") {
  claims_driver d;
  const auto s1 = d.open(1), s2 = d.open(2);
  CHECK(d.asks("x", s1) == "held");
  CHECK(d.queues("x", s2) == "true");
  CHECK(d.holders("x") == texts{s1});
  CHECK(d.holders("x", claim_space::keys) == texts{s2});
}

// Rule 2: it exists "while it has a holder, waiter, delayed holder or fixed limit".
TEST_CASE("a resource ends with its last reason, and its kind with it") {
  claims_driver d;
  const auto s1 = d.open(1), s2 = d.open(2, 5000);
  CHECK(d.asks("x", s1, "a") == "held");
  CHECK(d.asks("x", s2, "b", of_kind(claim_kind::election)) == "kind");
  CHECK(d.drops("x", "a") == "true");
  CHECK_FALSE(d.view("x").known);
  CHECK(d.asks("x", s2, "b", of_kind(claim_kind::election)) == "held");
  d.close(s2);
  CHECK(d.view("x").known); // a holder in its lock delay
  CHECK(d.asks("x", s1, "c", of_kind(claim_kind::lock)) == "kind");
  d.pass(5000);
  d.alarm();
  CHECK_FALSE(d.view("x").known);
  CHECK(d.apply(claim_limit_set{"x", 3}).index() == 1);
  CHECK(d.view("x").kind == claim_kind::semaphore);
  CHECK(d.asks("x", s1, "d", of_kind(claim_kind::lock)) == "kind");
  d.apply(claim_limit_unset{"x"});
  CHECK_FALSE(d.view("x").known);
  CHECK(d.m.claims_counted().resources == 0);
}

// Rules 3 and 4 and the order of docs/internals/adr/0016.
TEST_CASE("arguments of a claim: table") {
  struct row {
    const char* name;
    claims_driver::change ask;
    const char* response;
  };
  const row rows[] = {
      {"a lock", {}, "held"},
      {"no permits", permits(0, 3), "parameter permits"},
      {"more than the limit", permits(4, 3), "parameter permits"},
      {"a semaphore without limit", permits(1), "parameter limit"},
      {"limit of zero",
       [](claim_ask& c) {
         c.kind = claim_kind::semaphore;
         c.limit = 0;
       },
       "parameter limit"},
      {"permits of a lock", [](claim_ask& c) { c.permits = 1; }, "parameter permits"},
      {"limit of a lock", [](claim_ask& c) { c.limit = 1; }, "parameter limit"},
      {"mode of a lock", [](claim_ask& c) { c.mode = claim_mode::exclusive; }, "parameter mode"},
      {"mode of an election",
       [](claim_ask& c) {
         c.kind = claim_kind::election;
         c.mode = claim_mode::shared;
       },
       "parameter mode"},
      {"priority", priority(256), "parameter priority"},
      {"no name", [](claim_ask& c) { c.name.clear(); }, "parameter name"},
      {"no session", [](claim_ask& c) { c.session.clear(); }, "parameter session"},
      {"unknown session", [](claim_ask& c) { c.session = uuid(99); }, "unknown-session"},
      {"id with a blank", [](claim_ask& c) { c.id = "a b"; }, "parameter id"},
      {"id too long", [](claim_ask& c) { c.id = std::string(65, 'i'); }, "parameter id"},
      {"deadline too long", until(claim_deadline_ms_max + 1), "parameter deadline"},
      {"value too large", [](claim_ask& c) { c.value = make_payload(std::string(4097, 'v')); }, "value-size"},
      {"value of 4 KiB", [](claim_ask& c) { c.value = make_payload(std::string(4096, 'v')); }, "held"},
  };
  for (const auto& r : rows) {
    INFO(r.name);
    claims_driver d;
    const auto s = d.open(1);
    CHECK(d.asks(
              "x", s, {}, r.ask ? r.ask : [](claim_ask&) {}) == r.response);
    CHECK(d.view("x").known == (std::string(r.response) == "held"));
    CHECK(d.sound());
  }
}

// Rule 3: "`limit` in a claim only creates: it is required for an empty semaphore".
TEST_CASE("the limit of a semaphore") {
  claims_driver d;
  const auto s1 = d.open(1), s2 = d.open(2), s3 = d.open(3);
  CHECK(d.asks("x", s1, "a", permits(1, 3)) == "held");
  CHECK(d.asks("x", s2, "b", permits(1)) == "held");
  CHECK(d.asks("x", s3, "c", permits(1, 4)) == "limit");
  d.apply(claim_limit_set{"x", 2});
  CHECK(d.view("x").pinned);
  CHECK(d.asks("x", s3, "c", permits(1, 4)) == "waiting 1"); // its own permits do not count
  d.apply(claim_limit_set{"x", 3});
  CHECK(d.granted() == texts{"x:c"});
  d.apply(claim_limit_unset{"x"});
  CHECK(d.view("x").limit == 3);
  CHECK(claims_driver::response(d.apply(claim_limit_set{"l", 0})) == "parameter n");
  d.asks("l", s1);
  CHECK(claims_driver::response(d.apply(claim_limit_set{"l", 2})) == "kind");
}

// Rule 5: "A smaller limit ends waiters with permits > limit"; holders keep what they have.
TEST_CASE("a limit that shrinks") {
  claims_driver d;
  const auto s1 = d.open(1), s2 = d.open(2), s3 = d.open(3);
  d.asks("x", s1, "a", permits(5, 5));
  d.asks("x", s2, "b", permits(4));
  d.asks("x", s3, "c", permits(2));
  d.apply(claim_limit_set{"x", 3});
  CHECK(d.holders("x") == texts{"a"});
  CHECK(d.waiters("x") == texts{"c"});
  CHECK(d.ended("x", "b") == "limit");
  CHECK(d.asks("x", s2, "b", permits(1)) == "ended limit");
  d.drops("x", "a");
  CHECK(d.holders("x") == texts{"c"});
}

// Rules 6 and 7: "Without `id` the id is the session"; an ended id is remembered for 10 minutes.
TEST_CASE("ids") {
  claims_driver d;
  const auto s1 = d.open(1), s2 = d.open(2);
  CHECK(d.asks("x", s1) == "held");
  const auto fence = d.fence("x", s1);
  CHECK(d.asks("x", s1) == "held");
  CHECK(d.fence("x", s1) == fence);
  CHECK(d.asks("x", s2, s1) == "id");
  CHECK(d.drops("x", s1) == "true");
  CHECK(d.drops("x", s1) == "true");
  CHECK(d.asks("x", s1) == "ended released");
  CHECK(d.drops("x", "early") == "true");
  CHECK(d.asks("x", s2, "early") == "ended withdrawn");
  CHECK(d.asks("y", s2, "early") == "held"); // an id belongs to its resource
  d.pass(claim_end_ms);
  CHECK(d.asks("x", s1) == "held");
}

TEST_CASE("mutant: ended_id_taken_again") {
  CHECK(detects_mutant("ended_id_taken_again", [] {
    claims_driver d;
    const auto s = d.open(1);
    d.drops("x", "a");
    return d.asks("x", s, "a") == "ended withdrawn";
  }));
}

// Rule 8: a session's second claim that conflicts with its first "is always 409 `deadlock`".
TEST_CASE("a session does not wait for itself") {
  claims_driver d;
  const auto s1 = d.open(1), s2 = d.open(2);
  d.asks("l", s1, "a");
  CHECK(d.asks("l", s1, "b") == "deadlock");
  d.asks("l", s2, "c");
  CHECK(d.asks("l", s2, "d") == "deadlock"); // its waits count
  d.asks("rw", s1, "a", shared());
  CHECK(d.asks("rw", s1, "b", shared()) == "held");
  CHECK(d.asks("rw", s1, "c", writer()) == "deadlock");
  d.asks("s", s1, "a", permits(2, 5));
  CHECK(d.asks("s", s1, "b", permits(3)) == "held");
  CHECK(d.asks("s", s1, "c", permits(1)) == "deadlock");
}

// Rule 8: "downgrade by `PUT ../mode` keeps the fence".
TEST_CASE("from exclusive to shared") {
  claims_driver d;
  const auto s1 = d.open(1), s2 = d.open(2), s3 = d.open(3);
  d.asks("x", s1, "w", writer());
  d.asks("x", s2, "r", shared());
  d.asks("x", s3, "v", writer());
  const auto fence = d.fence("x", "w");
  const auto mode = [&](const std::string& id, claim_mode m) {
    return claims_driver::response(d.apply(claim_mode_set{"x", id, m}));
  };
  CHECK(mode("r", claim_mode::shared) == "not-held");
  CHECK(mode("none", claim_mode::shared) == "unknown-claim");
  CHECK(mode("w", claim_mode::exclusive) == "held");
  CHECK(mode("w", claim_mode::shared) == "held");
  CHECK(d.fence("x", "w") == fence);
  CHECK(d.granted() == texts{"x:r"});
  CHECK(d.waiters("x") == texts{"v"});
  CHECK(mode("w", claim_mode::exclusive) == "mode");
  d.asks("l", s1, "a");
  CHECK(claims_driver::response(d.apply(claim_mode_set{"l", "a", claim_mode::shared})) == "mode");
}

// Rule 9: "`Ahead` lists at most 10"; "listings are paged".
TEST_CASE("which waiters are ahead, and pages") {
  claims_driver d;
  for (int i = 1; i <= 15; ++i)
    d.asks("x", d.open(i), "c" + std::to_string(i));
  const auto last = *d.standing("x", "c15").live;
  CHECK(last.position == 14);
  CHECK(last.ahead.size() == ahead_max);
  CHECK(last.ahead.front() == claim_ahead{"c1", uuid(1), claim_state::held});
  CHECK(last.ahead.back() == claim_ahead{"c10", uuid(10), claim_state::waiting});
  CHECK(d.standing("x", "c9").live->position == 8);
  claims_list q;
  q.under = "x";
  q.rows_max = 6;
  std::size_t rows = 0;
  for (int pages = 1;; ++pages) {
    const auto page = std::get<claim_rows>(d.m.evaluate(q).data);
    rows += page.list.size();
    q.after = page.next;
    if (page.next.empty()) {
      CHECK(pages == 3);
      break;
    }
  }
  CHECK(rows == 15);
  CHECK(std::get<claim_rows>(d.m.evaluate(claims_list{{}, uuid(3), {}, {}}).data).list.size() == 1);
  CHECK(std::get<claim_rows>(d.m.evaluate(claims_list{{}, {}, "N", {}}).data).list.size() == 15);
}

// "429 queue full (10,000 waiters per resource)": and the bytes of the queue are given back.
TEST_CASE("a full queue") {
  claims_driver d;
  const auto s = d.open(1);
  d.asks("x", s, "holder", permits(1, 1));
  std::vector<std::string> sessions;
  for (int i = 0; i < static_cast<int>(waiters_max); ++i)
    REQUIRE(d.asks("x", d.open(i + 10), {}) == "waiting " + std::to_string(i + 1));
  CHECK(d.asks("x", d.open(5)) == "queue-full");
  CHECK(d.m.claims_counted().waiters == waiters_max);
  d.drop("n");
  CHECK(d.m.claims_counted().queued_bytes == 0);
  CHECK(d.m.claims_counted().resources == 0);
  CHECK(d.sound());
}

TEST_CASE("mutant: claim_ends_without_bound") {
  claims_driver d;
  const auto bounded = [&d] {
    for (std::uint64_t i = d.m.claims_counted().ends; i < claim_ends_max + 3; ++i)
      d.drops("x", std::to_string(d.index().value));
    return d.m.claims_counted().ends <= claim_ends_max;
  };
  bounded();
  CHECK(detects_mutant("claim_ends_without_bound", [&d] {
    d.drops("x", "one more " + std::string());
    for (int i = 0; i < 3; ++i)
      d.drops("x", "m" + std::to_string(d.index().value));
    return d.m.claims_counted().ends <= claim_ends_max;
  }));
}
