// Claims and queued acquires in a cluster of three: any server answers, the leader ends them.

#include "tests/actors/cluster_fixture.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;

namespace {

const state::resource_name claim_n{"n", state::claim_space::claims};
// Time for the way through the log, and the lag of cluster time.
constexpr milliseconds claims_slack{300};

state::command ask(const std::string& session, std::uint64_t deadline_ms = 0) {
  state::claim_ask c;
  c.name = "n";
  c.session = session;
  c.deadline_ms = deadline_ms;
  return c;
}

state::command release(const std::string& id) {
  return state::claim_release{"n", id};
}

state::command acquire(const std::string& session, std::uint64_t wait_ms) {
  state::kv_acquire a;
  a.op.verb = state::kv_verb::lock;
  a.op.key = "k";
  a.op.value = make_payload(session);
  a.op.session = session;
  a.wait_ms = wait_ms;
  return a;
}

state::claim_answer claimed(cluster_fixture& c, std::size_t node, const state::command& what) {
  const auto r = c.written(c.write(node, what));
  REQUIRE(r.outcome == wire::call_outcome::done);
  REQUIRE(std::holds_alternative<state::claim_answer>(r.reply));
  return std::get<state::claim_answer>(r.reply);
}

/// Waits like claim_waits.
call wait_for(cluster_fixture& c, std::size_t node, const state::claim_answer& a, milliseconds timeout) {
  return c.await_claim(node, {a.of, a.id}, a.index, timeout);
}

state::claim_standing standing(const read_result& r) {
  const auto* found = r.found();
  REQUIRE(found != nullptr);
  return std::get<state::claim_standing>(found->data);
}

} // namespace

TEST_CASE("a claim waits on any server, and is answered by the entry that grants it", "[actors][claims]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto follower = c.all_but(leader).front();
  const auto a = c.session(leader, seconds(3600)), b = c.session(leader, seconds(3600));
  CHECK(claimed(c, leader, ask(a)).state == state::claim_state::held);
  const auto waiting = claimed(c, follower, ask(b));
  CHECK(waiting.state == state::claim_state::waiting);
  CHECK(waiting.position == 1);
  const auto parked = wait_for(c, follower, waiting, seconds(60));
  c.pass(seconds(5));
  CHECK_FALSE(c.answered(parked));
  CHECK(std::get<bool>(c.written(c.write(leader, release(a))).reply));
  const auto granted = standing(c.found(parked));
  REQUIRE(granted.live);
  CHECK(granted.live->state == state::claim_state::held);
  CHECK(granted.live->fence > 0);
}

// A follower may forward a claim and receive `waiting` long before its own tables have that entry.
// They do not have the claim then, but it has not ended.
TEST_CASE("a server that lags does not know the outcome of a claim", "[actors][claims]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto a = c.session(leader, seconds(3600)), b = c.session(leader, seconds(3600));
  claimed(c, leader, ask(a));
  auto waiting = claimed(c, leader, ask(b));
  waiting.id = "not-there-yet";
  waiting.index = log_index{waiting.index.value + 1'000'000};
  const auto parked = wait_for(c, leader, waiting, seconds(2));
  c.pass(seconds(1));
  CHECK_FALSE(c.answered(parked));
  CHECK(failed(c.found(parked)));
}

TEST_CASE("other waiters that join and leave do not wake a waiter", "[actors][claims]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto a = c.session(leader, seconds(3600)), b = c.session(leader, seconds(3600));
  const auto other = c.session(leader, seconds(3600));
  claimed(c, leader, ask(a));
  const auto parked = wait_for(c, leader, claimed(c, leader, ask(b)), seconds(60));
  claimed(c, leader, ask(other));
  c.written(c.write(leader, release(other)));
  c.pass(seconds(1));
  CHECK_FALSE(c.answered(parked));
}

TEST_CASE("a claim that waits outlives the leader", "[actors][claims]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto others = c.all_but(leader);
  const auto a = c.session(others[0], seconds(3600)), b = c.session(others[0], seconds(3600));
  claimed(c, leader, ask(a));
  const auto parked = wait_for(c, others[0], claimed(c, others[0], ask(b)), seconds(600));
  c.crash(leader);
  c.leader(); // another one
  CHECK_FALSE(c.answered(parked));
  CHECK(std::get<bool>(c.written(c.write(others[1], release(a))).reply));
  CHECK(standing(c.found(parked)).live->state == state::claim_state::held);
}

TEST_CASE("the end of its session ends a wait, with the cause", "[actors][claims]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto a = c.session(leader, seconds(3600)), b = c.session(leader, seconds(3600));
  claimed(c, leader, ask(a));
  const auto parked = wait_for(c, leader, claimed(c, leader, ask(b)), seconds(60));
  c.written(c.write(leader, state::session_destroy{{b}, "destroyed"}));
  const auto end = standing(c.found(parked)).ended;
  REQUIRE(end != nullptr);
  CHECK(end->why == state::claim_end::session);
  CHECK(end->cause == "destroyed");
}

// Nothing else is written: without an alarm there would be no entry with a time after the deadline.
TEST_CASE("the leader ends waits in time", "[actors][claims]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto follower = c.all_but(leader).front();
  const auto a = c.session(leader, seconds(3600)), b = c.session(leader, seconds(3600));
  claimed(c, leader, ask(a));
  CHECK(std::get<bool>(c.written(c.write(leader, acquire(a, 1000))).reply));
  const auto requested = c.now();
  SECTION("a claim with a deadline") {
    const auto parked = wait_for(c, follower, claimed(c, follower, ask(b, 5000)), seconds(60));
    CHECK(standing(c.found(parked)).ended->why == state::claim_end::deadline);
  }
  SECTION("an acquire of a key that waits") {
    const auto parked = wait_for(c, follower, claimed(c, follower, acquire(b, 5000)), seconds(60));
    CHECK(standing(c.found(parked)).ended->why == state::claim_end::deadline);
  }
  CHECK(c.now() - requested >= seconds(5) - claims_slack);
  CHECK(c.now() - requested <= seconds(5) + claims_slack);
}

TEST_CASE("a new leader knows due timers from the state", "[actors][claims]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto others = c.all_but(leader);
  const auto a = c.session(others[0], seconds(3600)), b = c.session(others[0], seconds(3600));
  claimed(c, leader, ask(a));
  const auto parked = wait_for(c, others[0], claimed(c, others[0], ask(b, 10'000)), seconds(60));
  c.crash(leader);
  CHECK(standing(c.found(parked)).ended->why == state::claim_end::deadline);
}

TEST_CASE("a queued acquire gets the lock when its delay is over", "[actors][claims]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto holder = c.session(leader, seconds(3600), milliseconds(5000));
  const auto b = c.session(leader, seconds(3600));
  CHECK(std::get<bool>(c.written(c.write(leader, acquire(holder, 1000))).reply));
  const auto parked = wait_for(c, leader, claimed(c, leader, acquire(b, 60'000)), seconds(60));
  c.written(c.write(leader, state::session_destroy{{holder}, "destroyed"}));
  const auto lost = c.now();
  CHECK(standing(c.found(parked)).live->state == state::claim_state::held);
  CHECK(c.now() - lost >= milliseconds(5000) - claims_slack);
  CHECK(c.now() - lost <= milliseconds(5000) + claims_slack);
}

TEST_CASE("a thousand waits with the same deadline end soon", "[actors][claims]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto a = c.session(leader, seconds(3600)), b = c.session(leader, seconds(3600));
  state::claim_ask each;
  each.name = "permits";
  each.kind = state::claim_kind::semaphore;
  each.session = a;
  each.limit = each.permits = 2000;
  claimed(c, leader, each);
  each.session = b;
  each.permits = 1;
  each.deadline_ms = 20'000;
  state::claim_answer last;
  // More than one entry can end (docs/reference/claims.md, rule 14).
  for (int i = 0; i < 1500; ++i) {
    each.id = "i" + std::to_string(i);
    last = claimed(c, leader, each);
  }
  const auto parked = wait_for(c, leader, last, seconds(600));
  const auto requested = c.now();
  CHECK(standing(c.found(parked)).ended->why == state::claim_end::deadline);
  CHECK(c.now() - requested <= seconds(21));
}

TEST_CASE("a leader with its lease refuses a late acquire without an entry", "[actors][claims]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto a = c.session(leader, seconds(3600)), b = c.session(leader, seconds(3600));
  state::kv_op o;
  o.verb = state::kv_verb::lock;
  o.key = "k";
  o.session = a;
  CHECK(std::get<bool>(c.written(c.write(leader, state::kv_write{o})).reply));
  o.session = b;
  const auto late = c.written(c.write(leader, state::kv_write{o}));
  CHECK_FALSE(std::get<bool>(late.reply));
  CHECK(late.index.is_zero());
  CHECK(late.reply.note.why == state::refused_for::held);
  CHECK(late.reply.note.holder == a);
  // Through a follower the leader's log decides.
  const auto other = c.written(c.write(c.all_but(leader).front(), state::kv_write{o}));
  CHECK_FALSE(std::get<bool>(other.reply));
  CHECK_FALSE(other.index.is_zero());
}

TEST_CASE("of concurrent acquires one gets an entry", "[actors][claims]") {
  cluster_fixture c;
  const auto leader = c.leader();
  std::vector<std::string> sessions;
  for (int i = 0; i < 16; ++i)
    sessions.push_back(c.session(leader, seconds(3600)));
  const auto acquire = [](const std::string& session) {
    state::kv_op o;
    o.verb = state::kv_verb::lock;
    o.key = "k";
    o.session = session;
    return state::kv_write{o};
  };
  c.pass(seconds(3)); // the agents have registered their nodes
  const auto before = c.log(leader).kept().entries.size();
  std::vector<call> requested;
  for (const auto& s : sessions)
    requested.push_back(c.write(leader, acquire(s)));

  SECTION("the others are late when it is applied") {
    CHECK(std::get<bool>(c.written(requested.front()).reply));
    for (std::size_t i = 1; i < requested.size(); ++i) {
      const auto late = c.written(requested[i]);
      CHECK_FALSE(std::get<bool>(late.reply));
      CHECK(late.reply.note.holder == sessions.front());
    }
    CHECK(c.log(leader).kept().entries.size() == before + 1);
  }
  SECTION("a session that already holds the lock gets it again") {
    const auto again = c.write(leader, acquire(sessions.front()));
    CHECK(std::get<bool>(c.written(again).reply));
    CHECK(c.log(leader).kept().entries.size() == before + 2);
  }
  SECTION("a leader that is cut off answers each of them") {
    c.settle();
    c.net().partition({{leader}, c.all_but(leader)});
    const auto alone = c.write(leader, acquire(sessions.front()));
    const auto kept = c.write(leader, acquire(sessions.back()));
    c.leader(c.all_but(leader));
    c.net().heal();
    for (const auto& each : requested)
      CHECK(c.answered(each));
    REQUIRE(c.until([&] { return c.answered(alone) && c.answered(kept); }));
    CHECK(c.written(alone).outcome != wire::call_outcome::refused);
    CHECK(c.converged());
  }
}
