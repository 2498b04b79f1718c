#include "sim/checkers/lock_delay_checker.hpp"
#include "tests/sim/written_log.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::sim;
using state::kv_verb;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr auto holder = "11111111-2222-3333-4444-555555555555"; // that of lock()
constexpr auto next_one = "22222222-2222-3333-4444-555555555555";

/// A session has key "k" and a lock delay of ten seconds, and another one waits for it.
class delayed_lock {
public:
  delayed_lock() {
    state::catalog_register node;
    node.node.node = "m";
    commit(node, seconds(0));
    for (const auto* id : {holder, next_one}) {
      state::session_create create;
      create.session.id = id;
      create.session.node = "m";
      create.session.lock_delay_ns = 10'000'000'000;
      commit(create, seconds(0));
    }
    commit(lock("k"), seconds(1));
  }
  /// The model counts cluster time, which this checker does not use: it plays a server that
  /// wrongly grants the lock, and wrongly rejects an acquire.
  broken commit(const state::command& c, std::optional<virtual_time> made, std::uint64_t term = 1) {
    auto e = entry(model_.applied().value + 1, c);
    e.term = term_id{term};
    e.time = cluster_time{model_.applied().value * 1'000'000};
    model_.apply(e);
    return checker_.committed(e, made);
  }
  broken end_session(std::optional<virtual_time> made) { return commit(state::session_destroy{{holder}, "ttl"}, made); }
  broken acquire(virtual_time made) {
    auto op = key_op(kv_verb::lock, "k");
    op.session = next_one;
    return commit(state::kv_write{op}, made);
  }
  broken refused(virtual_time requested) {
    operation o;
    auto op = key_op(kv_verb::lock, "k");
    op.session = next_one;
    o.write = state::kv_write{op};
    o.invoked = requested;
    o.returned = requested + milliseconds(10);
    o.result = outcome::done;
    o.reply = false;
    o.reply.note.why = state::refused_for::lock_delay;
    return checker_.ended(o);
  }
  lock_delay_checker& checker() { return checker_; }
  paused_clocks& clocks() { return clocks_; }

private:
  kv_model model_;
  paused_clocks clocks_{seconds(1)};
  lock_delay_checker checker_{model_, {true, &clocks_}};
};

} // namespace

TEST_CASE("lock-delays: no session gets the lock before the delay is over, except by a fast clock") {
  delayed_lock l;
  CHECK_FALSE(l.end_session(seconds(100)));
  SECTION("over") {
    CHECK_FALSE(l.acquire(seconds(110)));
  }
  SECTION("over by a clock that is 10 % fast") {
    CHECK_FALSE(l.acquire(milliseconds(109'100)));
  }
  SECTION("not over by any") {
    CHECK(l.acquire(milliseconds(109'000)));
  }
  SECTION("at once") {
    CHECK(l.acquire(seconds(100)));
  }
}

TEST_CASE("lock-delays: it counts from the creation of the entry; if that was not observed, there is no verdict") {
  delayed_lock l;
  CHECK_FALSE(l.end_session(std::nullopt));
  CHECK_FALSE(l.acquire(seconds(101)));
  CHECK_FALSE(l.refused(seconds(500)));
}

TEST_CASE("lock-delays: a release begins none") {
  delayed_lock l;
  auto release = key_op(kv_verb::unlock, "k");
  release.session = holder;
  CHECK_FALSE(l.commit(state::kv_write{release}, seconds(100)));
  CHECK_FALSE(l.acquire(seconds(101)));
}

TEST_CASE("lock-delays: after its end no request is rejected for it") {
  delayed_lock l;
  CHECK_FALSE(l.end_session(seconds(100)));
  CHECK_FALSE(l.refused(seconds(105)));
  CHECK_FALSE(l.refused(seconds(112))); // 11 s by a slow clock, and one for the request
  CHECK(l.refused(milliseconds(112'001)));
  SECTION("the time between two leaders is not counted") {
    l.commit(set("x", "1"), seconds(102));
    l.checker().led(term_id{2});
    CHECK_FALSE(l.refused(seconds(115))); // the new leader continues from second 102
    l.commit(set("x", "2"), seconds(120), 2);
    CHECK_FALSE(l.refused(seconds(130)));
    CHECK(l.refused(milliseconds(130'001)));
  }
}

TEST_CASE("lock-delays: time during which a node's clocks are paused does not count, whenever the entry is committed") {
  delayed_lock l;
  const bool committed_before = GENERATE(true, false);
  if (committed_before)
    CHECK_FALSE(l.end_session(seconds(100)));
  l.clocks().stops(0, seconds(101));
  l.clocks().goes_on(0, seconds(106));
  if (!committed_before)
    CHECK_FALSE(l.end_session(seconds(100)));
  CHECK_FALSE(l.refused(seconds(117)));
  CHECK(l.refused(milliseconds(117'001)));
}
