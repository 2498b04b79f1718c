#include "tests/unit/protocol/state/claims/claims_driver.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::state;

// docs/reference/claims.md, rule 23: `acquire&queue` queues on `held`, too; its deadline is in the state.
TEST_CASE("an acquire that waits is granted by the release, or ends at its deadline") {
  claims_driver d;
  const auto a = d.open(1), b = d.open(2), c = d.open(3);
  CHECK(d.queues("k", a) == "true");
  const auto waiting = d.queue("k", b, 1000, "of b");
  CHECK(claims_driver::response(waiting) == "waiting 1");
  CHECK(std::get<claim_answer>(waiting).ahead == std::vector<claim_ahead>{{a, a, claim_state::held}});
  CHECK(d.queues("k", c, 500) == "waiting 2");
  d.pass(500);
  d.alarm();
  CHECK(d.ended("k", c, claim_space::keys) == "deadline");
  CHECK(d.waiters("k", claim_space::keys) == texts{b});
  const auto lock_index = d.get("k")->lock_index, fence = d.get("k")->fence;
  CHECK(d.release("k", a));
  // Rule 26: "the grant writes its own value and flags, LockIndex + 1", and wakes the watchers.
  const auto entry = d.get("k");
  CHECK(entry->session == b);
  CHECK(*entry->value == "of b");
  CHECK(entry->flags == 7);
  CHECK(entry->lock_index == lock_index + 1);
  CHECK(entry->fence > fence);
  CHECK(d.granted() == texts{"k:" + b});
  CHECK(std::count_if(d.changed.begin(), d.changed.end(),
                      [](const effect& e) { return std::holds_alternative<kv_changed>(e); }) == 2);
  CHECK(d.standing("k", b, claim_space::keys).live->fence == entry->fence);
  CHECK(d.m.claims_counted().resources == 0);
  CHECK(d.queues("k", c, 500) == "waiting 1"); // a wait for a lock may be requested again at once
}

// Rule 24: "One queued acquire per key and session"; a repeated one keeps its position.
TEST_CASE("a repeated request keeps the position") {
  claims_driver d;
  const auto a = d.open(1), b = d.open(2), c = d.open(3);
  d.queue("k", a);
  d.queue("k", b, 1000, "old");
  d.queue("k", c, 1000);
  CHECK(claims_driver::response(d.queue("k", b, 9000, "new")) == "waiting 1");
  d.pass(2000);
  d.alarm();
  CHECK(d.waiters("k", claim_space::keys) == texts{b});
  d.release("k", a);
  CHECK(*d.get("k")->value == "new");
  // 4 KiB "while queued".
  CHECK(claims_driver::response(d.queue("k", c, 1000, std::string(5000, 'v'))) == "value-size");
  CHECK(claims_driver::response(d.queue("k", b, 1000, std::string(5000, 'v'))) == "true"); // its holder's
  CHECK(claims_driver::response(d.queue("l", c, 1000, std::string(5000, 'v'))) == "true"); // it need not wait
}

// Rule 25: "`release` by a waiter leaves the queue and returns `false`".
TEST_CASE("a waiter that releases leaves the queue") {
  claims_driver d;
  const auto a = d.open(1), b = d.open(2);
  d.queue("k", a);
  d.queue("k", b);
  CHECK_FALSE(d.release("k", b));
  CHECK(d.waiters("k", claim_space::keys).empty());
  CHECK(d.ended("k", b, claim_space::keys) == "withdrawn");
  d.queue("k", b);
  txn t;
  kv_op op;
  op.verb = kv_verb::unlock;
  op.key = "k";
  op.session = b;
  t.ops.emplace_back(op);
  CHECK(claims_driver::response(d.apply(t)) ==
        "failed to unlock key \"k\", lock isn't held, or is held by another session");
  CHECK(d.waiters("k", claim_space::keys) == texts{b});
}

namespace {

waits_withdraw withdrawal(const std::string& key, const std::string& session, log_index requested_at) {
  return {{{key, session, requested_at}}};
}

} // namespace

// Rule 24: 5 s after its client disconnected a wait is withdrawn, unless requested again.
TEST_CASE("a wait whose client disconnected is withdrawn, and the next one gets the lock") {
  claims_driver d;
  const auto a = d.open(1), b = d.open(2), c = d.open(3);
  d.queue("k", a);
  d.queue("k", b);
  const auto requested_at = d.index();
  d.queue("k", c);
  CHECK(claims_driver::response(d.apply(withdrawal("k", b, requested_at))) == "true");
  CHECK(d.waiters("k", claim_space::keys) == texts{c});
  CHECK(d.ended("k", b, claim_space::keys) == "withdrawn");
  CHECK(d.standing("k", b, claim_space::keys).ended->cause == client_disconnected);
  CHECK(d.sent_ends() == 1);
  d.release("k", a);
  CHECK(d.get("k")->session == c);
  CHECK(d.queues("k", b) == "waiting 1"); // later it may queue again, and is the last
  CHECK(d.sound());
}

TEST_CASE("a wait that is requested again keeps its position, whatever order the entries have") {
  const auto keeps = [] {
    claims_driver d;
    const auto a = d.open(1), b = d.open(2), c = d.open(3);
    d.queue("k", a);
    d.queue("k", b);
    const auto requested_at = d.index();
    d.queue("k", c);
    d.queue("k", b); // is in the log before the withdrawal of the first request
    d.apply(withdrawal("k", b, requested_at));
    return d.waiters("k", claim_space::keys) == texts{b, c};
  };
  CHECK(keeps());
  CHECK(detects_mutant("renewed_wait_withdrawn", keeps));
}

TEST_CASE("a withdrawal does not affect a held, ended or unknown claim") {
  claims_driver d;
  const auto a = d.open(1), b = d.open(2);
  d.queue("k", a);
  const auto held_at = d.index();
  d.queue("k", b);
  const auto requested_at = d.index();
  d.release("k", a);
  CHECK(d.get("k")->session == b);
  d.apply(withdrawal("k", b, requested_at)); // it was granted in time
  CHECK(d.get("k")->session == b);
  d.apply(withdrawal("k", a, held_at));
  d.apply(withdrawal("none", a, held_at));
  d.apply(withdrawal("k", uuid(99), requested_at));
  CHECK(d.get("k")->session == b);
  CHECK(d.sent_ends() == 0);
  CHECK(claims_driver::response(d.apply(waits_withdraw{std::vector<wait_ref>(withdrawn_at_once_max + 1)})) ==
        "parameter waits");
  CHECK(d.sound());
}

// A withdrawn claim's ID would be refused for ten minutes (rule 7), so claims keep waiting.
TEST_CASE("claims are not withdrawn when a client disconnects") {
  const auto keeps = [] {
    claims_driver d;
    const auto a = d.open(1), b = d.open(2);
    d.ask("n", a);
    d.ask("n", b);
    d.apply(withdrawal("n", b, d.index()));
    return d.waiters("n") == texts{b};
  };
  CHECK(keeps());
  CHECK(detects_mutant("disconnect_withdraws_claims", keeps));
}

TEST_CASE("only servers withdraw waits of clients that disconnected") {
  claims_driver d;
  const auto a = d.open(1), b = d.open(2);
  d.queue("k", a);
  d.queue("k", b);
  command c = withdrawal("k", b, d.index());
  c.by = auth_context{"secret of nobody", false, "dc1"};
  d.apply(c);
  CHECK(d.waiters("k", claim_space::keys) == texts{b});
}

// Rule 26: "put and cas never touch the queue". Rule 27: "Delete and delete-tree of a locked key
// release it without delay; the next waiter is granted in that entry".
TEST_CASE("a locked key is written, deleted, and deleted with its tree") {
  for (const bool tree : {false, true}) {
    claims_driver d;
    const auto a = d.open(1, 5000), b = d.open(2, 5000), c = d.open(3);
    d.queue("t/k", a);
    d.queue("t/k", b);
    d.queue("t/k", c);
    d.set("t/k", "x");
    d.cas("t/k", d.get("t/k")->modify_index, "y");
    CHECK(d.waiters("t/k", claim_space::keys) == texts{b, c});
    tree ? d.remove_tree("t/") : d.remove("t/k");
    CHECK(d.get("t/k")->session == b);
    CHECK(d.get("t/k")->create_index == d.index());
    CHECK(d.get("t/k")->lock_index == 1);
    CHECK(d.waiters("t/k", claim_space::keys) == texts{c});
    CHECK(d.sound());
  }
  CHECK(detects_mutant("removed_lock_grants_nobody", [] {
    claims_driver d;
    const auto a = d.open(1), b = d.open(2);
    d.queue("k", a);
    d.queue("k", b);
    d.remove("k");
    return d.get("k") && d.get("k")->session == b;
  }));
}

// Rule 28: plain acquires and `lock` in transactions need "a free key without waiters".
TEST_CASE("plain acquires lose while others queue") {
  const auto loses = [] {
    claims_driver d;
    const auto a = d.open(1, 5000), b = d.open(2), c = d.open(3);
    d.queue("k", a);
    d.queue("k", b);
    const bool held = claims_driver::response(d.write(kv_verb::lock, "k", "", 0, 0, c)) == "false held";
    // Within one transaction the lock is free for a moment.
    txn t;
    for (const auto& [verb, session] : {std::pair(kv_verb::unlock, a), std::pair(kv_verb::lock, c)}) {
      kv_op op;
      op.verb = verb;
      op.key = "k";
      op.session = session;
      t.ops.emplace_back(op);
    }
    const bool queued = claims_driver::response(d.apply(t)) == "failed to lock key \"k\", lock is already held";
    return held && queued && d.get("k")->session == a;
  };
  CHECK(loses());
  CHECK(detects_mutant("plain_acquire_overtakes_queue", loses));
}

// The lock delay of a key belongs to its former holder, and nothing else ends a wait for it.
TEST_CASE("a lock delay keeps the queue waiting") {
  claims_driver d;
  const auto a = d.open(1, 5000), b = d.open(2), c = d.open(3);
  d.queue("k", a);
  d.queue("k", b, 60'000);
  d.close(a);
  CHECK(d.get("k")->session.empty());
  CHECK(d.m.next_alarm() == cluster_time{d.now.value + 5000});
  CHECK(claims_driver::response(d.write(kv_verb::lock, "k", "", 0, 0, c)) == "false lock-delay");
  CHECK(d.queues("k", c, 60'000) == "waiting 2");
  CHECK(d.queues("free", c, 0) == "true");
  d.pass(5000);
  d.alarm();
  CHECK(d.granted() == texts{"k:" + b});
  CHECK(d.queues("k", uuid(99)) == "invalid session \"" + uuid(99) + "\"");
  CHECK(d.queues("k", "") == "missing session");
}
