#include "protocol/state/restore/row_rules.hpp"
#include "tests/unit/protocol/state/claims/claims_driver.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::state;

namespace {

void restore(claims_driver& d, const archive& a, const std::string& id = "r") {
  d.apply(restore_begin{id, a.index});
  d.apply(restore_rows{id, 0, std::make_shared<const std::vector<dirty_row>>(a.rows)});
  REQUIRE(claims_driver::response(d.apply(restore_commit{id, 1})) == "true");
  CHECK(d.sound());
}

} // namespace

// docs/reference/claims.md, rule 38: "A restore takes the archive's holders and queues".
TEST_CASE("holders and queues of an archive return") {
  claims_driver d;
  const auto a = d.open(1), b = d.open(2), c = d.open(3);
  d.asks("x", a, "a");
  d.asks("x", b, "b", until(5000));
  d.asks("x", c, "c");
  d.queue("k", a);
  d.queue("k", b);
  d.apply(guard_set{"g/", {"x", claim_space::claims}});
  d.apply(claim_limit_set{"s", 4});
  const auto fence = d.fence("x", "a");
  const auto kept = save(d.m);
  d.pass(1000);
  restore(d, kept);
  CHECK(d.holders("x") == texts{"a"});
  CHECK(d.fence("x", "a") == fence); // no other client held it in between
  CHECK(d.waiters("x") == texts{"b", "c"});
  CHECK(d.waiters("k", claim_space::keys) == texts{b});
  CHECK(d.view("s").limit == 4);
  CHECK(d.view("s").pinned);
  CHECK(std::get<guard_rows>(d.m.evaluate(guards_list{}).data).list.size() == 1);
  // "deadlines are at most now + their own length": by the clock of the archive.
  CHECK(d.m.next_alarm() == cluster_time{d.now.value + 4000});
  CHECK(d.asks("x", d.open(4), "e") == "waiting 3"); // "Tickets are renumbered in order"
  CHECK(d.drops("x", "a") == "true");
  CHECK(d.holders("x") == texts{"b"});
  CHECK(d.fence("x", "b") > fence);
}

// "Later waits end (`restored`), later holders become delayed holders".
TEST_CASE("present claims that the archive does not have") {
  claims_driver d;
  const auto a = d.open(1, 5000), b = d.open(2, 5000), c = d.open(3);
  d.asks("x", a, "a");
  const auto kept = save(d.m);
  d.drops("x", "a");
  d.asks("x", b, "b");
  d.asks("x", c, "c");
  const auto later = d.open(4);
  restore(d, kept);
  // Released since: "Present ended ids survive it and remove claims from the archive".
  CHECK(d.ended("x", "a") == "released");
  CHECK(d.holders("x").empty());
  CHECK(d.ended("x", "c") == "restored");
  CHECK(d.asks("x", c, "c") == "ended restored");
  CHECK(d.asks("x", c, "again") == "waiting 1"); // b may believe that it holds it
  CHECK(d.view("x").delays.size() == 1);
  d.pass(5000);
  d.alarm();
  CHECK(d.holders("x") == texts{"again"});
  const auto gone = std::get<ended_session_rows>(d.m.evaluate(session_ended{later}).data).list;
  REQUIRE(gone.size() == 1);
  CHECK(gone[0]->cause == "restored");
}

// The session held the lock when the archive was saved, and its end since left a lock delay, which
// continues: rule 38. When it holds the lock again, it must not queue after itself.
TEST_CASE("a holder that a restore brings back requests again while a lock delay runs") {
  const auto refused = [] {
    claims_driver d;
    const auto a = d.open(1, 5000);
    d.queue("k", a);
    const auto kept = save(d.m);
    d.close(a);
    restore(d, kept);
    const bool no = d.queues("k", a) == "false lock-delay" && d.waiters("k", claim_space::keys).empty();
    d.pass(5000);
    return no && d.queues("k", a) == "true";
  };
  CHECK(refused());
  CHECK(detects_mutant("holder_queues_in_delay", refused));
}

// The archive brings back a, whose end was forgotten after ten minutes. b held the lock later. Now
// a needs a fencing token above b's, or resources would reject a and accept b's late writes.
TEST_CASE("a holder that a restore brings back gets a fencing token above all that were granted in between") {
  const auto above = [] {
    claims_driver d;
    const auto a = d.open(1), b = d.open(2);
    d.apply(guard_set{"g/", {"x", claim_space::claims}});
    d.asks("x", a, "a");
    const auto first = d.fence("x", "a");
    const auto kept = save(d.m);
    d.drops("x", "a");
    d.asks("x", b, "b");
    const auto second = d.fence("x", "b");
    d.drops("x", "b");
    d.pass(claim_end_ms);
    restore(d, kept);
    const resource_name x{"x", claim_space::claims};
    return d.holders("x") == texts{"a"} && d.fence("x", "a") > second && d.fenced_set("g/1", x, first) == "fence" &&
           d.fenced_set("g/1", x, second) == "fence" && d.fenced_set("g/1", x, d.fence("x", "a")) == "true";
  };
  CHECK(above());
  CHECK(detects_mutant("restore_gives_old_fences", above));
}

// An older archive is restored, and then a newer one. With the older one b waits and is granted
// again; the fencing token of b's first grant in the newer one is smaller.
TEST_CASE("a fencing token from before an older archive does not return with a newer one") {
  const auto above = [] {
    claims_driver d;
    const auto a = d.open(1), b = d.open(2);
    d.asks("x", a, "a");
    d.asks("x", b, "b");
    const auto older = save(d.m);
    d.drops("x", "a");
    const auto newer = save(d.m);
    restore(d, older, "1");
    const auto second = d.fence("x", "b");
    restore(d, newer, "2");
    return second != 0 && d.holders("x") == texts{"b"} && d.fence("x", "b") > second;
  };
  CHECK(above());
  CHECK(detects_mutant("restore_gives_old_fences", above));
}

// c holds what the archive does not have, and may believe so until its delay is over.
TEST_CASE("mutant: restore_leaves_no_ghosts") {
  CHECK(detects_mutant("restore_leaves_no_ghosts", [] {
    claims_driver d;
    const auto a = d.open(1), c = d.open(3, 5000);
    const auto kept = save(d.m);
    d.asks("x", c, "c");
    restore(d, kept);
    return d.asks("x", a, "a") == "waiting 1";
  }));
}

TEST_CASE("mutant: restore_forgets_ended_claims") {
  CHECK(detects_mutant("restore_forgets_ended_claims", [] {
    claims_driver d;
    const auto a = d.open(1);
    d.asks("x", a, "a");
    const auto kept = save(d.m);
    d.drops("x", "a");
    restore(d, kept);
    return d.holders("x").empty();
  }));
}

TEST_CASE("an archive of another cluster with much larger fencing tokens and tickets") {
  claims_driver other;
  for (int i = 0; i < 50; ++i)
    other.set("k", std::to_string(i));
  const auto a = other.open(1), b = other.open(2), c = other.open(3);
  other.asks("x", a, "a");
  other.asks("x", b, "b");
  other.asks("y", c, "y");
  const auto fence = other.fence("y", "y");
  claims_driver d;
  restore(d, save(other.m));
  CHECK(d.fence("x", "a") > fence);
  CHECK(d.fence("y", "y") > d.fence("x", "a")); // they differ
  CHECK(d.waiters("x") == texts{"b"});
  d.drops("x", "a");
  CHECK(d.fence("x", "b") > d.fence("y", "y"));
}

TEST_CASE("rows that no request could have created are left out, or rejected") {
  claims_driver d;
  const auto a = d.open(1), b = d.open(2);
  d.asks("x", a, "a");
  d.asks("x", b, "b");
  auto kept = save(d.m);
  std::vector<dirty_row> forged;
  for (auto& row : kept.rows)
    if (const auto* c = std::get_if<claim_ptr>(&row.row)) {
      auto twin = std::make_shared<claim_record>(**c);
      twin->id = "twin-" + twin->id;
      twin->key = claim_key(twin->of.space, twin->of.name, twin->id); // the same ticket, the same fence
      auto orphan = std::make_shared<claim_record>(*twin);
      orphan->id = "orphan-" + twin->id;
      orphan->session = uuid(77);
      orphan->key = claim_key(orphan->of.space, orphan->of.name, orphan->id);
      forged.push_back({table::claims, twin->key, claim_ptr(twin)});
      forged.push_back({table::claims, orphan->key, claim_ptr(orphan)});
      CHECK_FALSE(complaint_of(row));
      auto wrong = std::make_shared<claim_record>(**c);
      wrong->permits = 0;
      CHECK(complaint_of({table::claims, wrong->key, claim_ptr(wrong)}));
    }
  kept.rows.insert(kept.rows.end(), forged.begin(), forged.end());
  restore(d, kept);
  CHECK(d.holders("x").size() == 1);
  CHECK(d.waiters("x").size() == 2);
  d.close(a);
  d.close(b);
  CHECK_FALSE(d.view("x").known);
  CHECK(d.sound());
}

// Checkpoints: nothing that decides a grant may be lost.
TEST_CASE("claims survive a checkpoint") {
  claims_driver d;
  const auto a = d.open(1, 5000), b = d.open(2), c = d.open(3);
  d.asks("x", a, "a", permits(2, 3));
  d.asks("x", b, "b", permits(2));
  d.asks("x", c, "c", [](claim_ask& q) {
    permits(1)(q);
    priority(3)(q);
    until(9000)(q);
  });
  d.queue("k", b);
  d.queue("k", c, 700);
  d.drops("y", "early");
  d.close(a);
  claims_driver fresh;
  for (auto& row : d.m.all_rows())
    fresh.m.load_row(std::move(row));
  fresh.m.finish_load(d.index(), d.m.now());
  fresh.now = d.now;
  CHECK(fresh.m.digest() == d.m.digest());
  CHECK(fresh.m.next_alarm() == d.m.next_alarm());
  CHECK(fresh.asks("y", b, "early") == "ended withdrawn");
  d.asks("y", b, "early");
  for (const std::uint64_t ms : {600u, 100u, 4300u, 4000u}) {
    d.pass(ms);
    fresh.pass(ms);
    d.alarm();
    fresh.alarm();
    CHECK(fresh.m.digest() == d.m.digest());
  }
  CHECK(fresh.holders("x") == d.holders("x"));
}
