#include "protocol/state/claims/grant_rule.hpp"
#include "tests/unit/protocol/state/claims/claims_driver.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::state;

// docs/reference/claims.md, "The model": the grant rule, and what fits beside holders and delayed holders.
TEST_CASE("which requests fit: table") {
  struct row {
    claim_kind kind;
    std::uint64_t limit;
    occupancy taken;
    claim_mode mode;
    std::uint64_t permits;
    bool fits;
  };
  using k = claim_kind;
  constexpr auto ex = claim_mode::exclusive, sh = claim_mode::shared;
  const row rows[] = {
      {k::lock, 0, {}, ex, 1, true},
      {k::lock, 0, {1, 0, 1}, ex, 1, false},
      {k::election, 0, {1, 0, 1}, ex, 1, false},
      {k::rw, 0, {}, ex, 1, true},
      {k::rw, 0, {0, 1, 1}, ex, 1, false},
      {k::rw, 0, {1, 0, 1}, sh, 1, false},
      {k::rw, 0, {0, 7, 7}, sh, 1, true},
      {k::semaphore, 5, {2, 0, 3}, ex, 2, true},
      {k::semaphore, 5, {2, 0, 4}, ex, 2, false},
      {k::semaphore, 2, {1, 0, 5}, ex, 1, false}, // holders from before a shrink
  };
  for (const auto& r : rows) {
    INFO(name_of(r.kind) << " " << r.taken.exclusive << " " << r.taken.shared << " " << r.taken.permits);
    CHECK(fits({r.kind, r.limit}, r.taken, r.mode, r.permits) == r.fits);
  }
}

namespace {

/// A waiter that fits is queued after one that does not.
std::string who_is_let_in() {
  claims_driver d;
  d.asks("x", d.open(1), "holder", permits(2, 3));
  d.asks("x", d.open(2), "large", permits(3));
  return d.asks("x", d.open(3), "small", permits(1));
}

/// A later waiter with a larger priority is queued first.
texts order_of_queue() {
  claims_driver d;
  d.asks("x", d.open(1), "holder");
  d.asks("x", d.open(2), "a");
  d.asks("x", d.open(3), "b", priority(9));
  d.asks("x", d.open(4), "c", priority(9));
  d.asks("x", d.open(5), "d", priority(255));
  return d.waiters("x");
}

} // namespace

// "stop at the first that does not fit"; "Within one priority no claim overtakes another".
TEST_CASE("the queue: priority descending, ticket ascending, nothing overtakes") {
  CHECK(who_is_let_in() == "waiting 2");
  CHECK(order_of_queue() == texts{"d", "b", "c", "a"});
  CHECK(detects_mutant("unfit_head_overtaken", [] { return who_is_let_in() == "waiting 2"; }));
  CHECK(detects_mutant("tickets_before_priorities", [] { return order_of_queue() == texts{"d", "b", "c", "a"}; }));
}

TEST_CASE("readers are granted together, and a writer between them keeps its position") {
  claims_driver d;
  const auto w = d.open(1);
  d.asks("x", w, "w1", writer());
  d.asks("x", d.open(2), "r1", shared());
  d.asks("x", d.open(3), "r2", shared());
  d.asks("x", d.open(4), "w2", writer());
  d.asks("x", d.open(5), "r3", shared());
  d.drops("x", "w1");
  CHECK(d.granted() == texts{"x:r1", "x:r2"});
  CHECK(d.waiters("x") == texts{"w2", "r3"});
  d.drops("x", "r1");
  CHECK(d.granted().empty());
  d.drops("x", "r2");
  CHECK(d.granted() == texts{"x:w2"});
}

// Rule 10: "one replicated mark; several grants of one entry differ".
TEST_CASE("fencing tokens grow over claims and locks of keys, and differ within an entry") {
  const auto differ = [] {
    claims_driver d;
    const auto a = d.open(1), b = d.open(2), c = d.open(3);
    d.asks("x", a);
    d.asks("y", a);
    d.asks("x", b);
    d.asks("y", c);
    d.acquire("k", a);
    d.queue("k", b);
    std::uint64_t newest = d.get("k")->fence;
    d.close(a);
    std::vector<std::uint64_t> fences;
    for (const auto& e : d.changed)
      if (const auto* g = std::get_if<claim_granted>(&e))
        fences.push_back(g->fence);
    // Rule 12: in order of names; the key "k" comes first.
    bool rises = fences.size() == 3 && d.granted() == texts{"k:" + b, "x:" + b, "y:" + c};
    for (const auto f : fences)
      rises = rises && f > std::exchange(newest, f);
    const auto next = std::get<claim_answer>(d.ask("z", b)).fence;
    return rises && next > newest && d.get("k")->fence == fences[0];
  };
  CHECK(differ());
  CHECK(detects_mutant("fences_of_one_entry_alike", differ));
}

// docs/internals/adr/0016: without claims in use, several grants of one transaction share a token.
TEST_CASE("before claims are in use nothing differs") {
  driver d;
  const auto s = d.open(1);
  txn t;
  for (const auto* key : {"a", "b"}) {
    kv_op op;
    op.verb = kv_verb::lock;
    op.key = key;
    op.session = s;
    t.ops.emplace_back(op);
  }
  d.apply(t);
  CHECK(d.get("a")->fence == d.index().value);
  CHECK(d.get("b")->fence == d.index().value);
  d.close(s);
  CHECK_FALSE(d.m.has_claims());
  for (const auto& row : d.m.all_rows()) {
    CHECK(row.table < table::claims);
    CHECK(row.key != "last-fence");
  }
  d.apply(claims_alarm{});
  CHECK(d.m.has_claims());
  const auto s2 = d.open(2);
  for (auto& op : t.ops)
    std::get<kv_op>(op).session = s2;
  d.apply(t);
  CHECK(d.get("a")->fence == d.index().value);
  CHECK(d.get("b")->fence == d.index().value + 1);
}

// Rules 13 and 16: "drops waiters past their deadline"; "`deadline` bounds waiting only".
TEST_CASE("deadlines") {
  claims_driver d;
  const auto a = d.open(1), b = d.open(2), c = d.open(3);
  d.asks("x", a, "a", until(100));
  d.asks("x", b, "b", until(100));
  d.asks("x", c, "c", until(300));
  CHECK(d.m.next_alarm() == cluster_time{d.now.value + 100});
  d.pass(99);
  d.alarm();
  CHECK(d.waiters("x") == texts{"b", "c"});
  d.pass(1);
  d.apply(claims_alarm{}); // for another time: only that of the entry counts
  CHECK(d.waiters("x") == texts{"c"});
  CHECK(d.holders("x") == texts{"a"});
  CHECK(d.ended("x", "b") == "deadline");
  CHECK(d.sent_ends() == 1);
  d.pass(200);
  d.m.skip(d.index().next(), d.now, d.changed); // any entry will do
  CHECK(d.waiters("x").empty());
  CHECK_FALSE(d.m.next_alarm());
}

// The holder's release and the waiter's deadline come with one entry: it must not be granted.
TEST_CASE("mutant: claim_granted_past_deadline") {
  const auto dropped = [] {
    claims_driver d;
    // More is due than one entry ends, so the waiter is still there when the holder releases.
    const auto a = d.open(1), b = d.open(2);
    for (int i = 0; i < static_cast<int>(expired_at_once_max); ++i) {
      d.asks("a" + std::to_string(i), a);
      d.asks("a" + std::to_string(i), b, {}, until(10));
    }
    d.asks("x", a, "a");
    d.asks("x", b, "b", until(20));
    d.pass(20);
    d.drops("x", "a");
    const bool granted = !d.holders("x").empty();
    d.alarm();
    return !granted && d.ended("x", "b") == "deadline";
  };
  CHECK(detects_mutant("claim_granted_past_deadline", dropped));
}

// Rule 14: "Every entry first expires what is due, at most 1,000 items".
TEST_CASE("an entry ends at most a thousand due items, and the timer fires again") {
  claims_driver d;
  const auto a = d.open(1);
  d.asks("x", a);
  for (int i = 0; i < 1200; ++i)
    d.asks("x", d.open(10 + i), {}, until(100'000));
  d.pass(100'000);
  const auto in_parts = [&d] {
    auto copy = std::make_unique<claims_driver>();
    for (auto& row : d.m.all_rows())
      copy->m.load_row(std::move(row));
    copy->m.finish_load(d.m.applied_index(), d.m.now());
    copy->now = d.now;
    copy->alarm();
    return copy->m.claims_counted().waiters == 200 && copy->m.next_alarm() <= copy->now &&
           (copy->alarm(), copy->m.claims_counted().waiters == 0) && copy->sound();
  };
  CHECK(in_parts());
  CHECK(detects_mutant("due_without_bound", in_parts));
}

// Invariant 7: "Alarms that are dropped, doubled, late ... change no grant".
TEST_CASE("an alarm that arrives twice or too early changes nothing") {
  claims_driver d;
  const auto a = d.open(1, 500), b = d.open(2);
  d.asks("x", a, "a");
  d.asks("x", b, "b");
  d.close(a);
  CHECK(d.m.next_alarm() == cluster_time{d.now.value + 500});
  d.alarm();
  d.alarm();
  CHECK(d.holders("x").empty());
  d.pass(500);
  d.alarm();
  CHECK(d.granted() == texts{"x:b"});
  const auto before = d.m.digest();
  d.alarm();
  CHECK(d.m.digest() == before);
  CHECK(d.changed.empty());
}
