#include "sim/checkers/session_checker.hpp"
#include "tests/sim/written_log.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::sim;
using state::kv_verb;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr auto session = "11111111-2222-3333-4444-555555555555"; // that of lock()

/// A log and the clients' view of it, written by hand; the checker receives both.
class story {
public:
  story() {
    state::catalog_register node;
    node.node.node = "m";
    commit(node, seconds(0));
    state::session_create create;
    create.session.id = session;
    create.session.node = "m";
    create.session.ttl_ns = 10'000'000'000;
    commit(create, seconds(0));
  }
  broken commit(const state::command& c, virtual_time at) {
    const auto e = entry(model_.applied().value + 1, c);
    reply_ = model_.apply(e);
    return checker_.committed(e, at, at);
  }
  broken times_out(virtual_time at) { return commit(state::session_destroy{{session}, "ttl"}, at); }
  /// @param known what a client knew when it sent the request; zero: nothing
  broken renewal(virtual_time requested, virtual_time answered, bool there, std::uint64_t known = 0) {
    operation o;
    o.renewal = session_renewal{session};
    o.invoked = requested;
    o.returned = answered;
    o.result = outcome::done;
    o.known_at_invocation = log_index{known};
    o.committed_at_return = model_.applied();
    o.renewed = there ? std::make_shared<state::session_record>() : nullptr;
    checker_.begun(o);
    return checker_.ended(o);
  }
  broken acquire(std::uint64_t fence) {
    operation o;
    o.write = lock("k");
    commit(*o.write, seconds(1));
    o.result = outcome::done;
    o.index = model_.applied();
    o.reply = true;
    o.reply.note.fence = fence;
    return checker_.ended(o);
  }
  std::uint64_t applied() const { return model_.applied().value; }
  session_checker& checker() { return checker_; }

private:
  kv_model model_;
  session_checker checker_{model_};
  std::optional<state::reply> reply_;
};

} // namespace

TEST_CASE("sessions: none ends before its TTL after a renewal") {
  story s;
  CHECK_FALSE(s.renewal(seconds(5), seconds(6), true));
  SECTION("in time") {
    CHECK_FALSE(s.times_out(seconds(15)));
    CHECK(s.checker().wrongly_released() == 0);
  }
  SECTION("too soon, and already visible") {
    CHECK(s.times_out(milliseconds(14'900)));
    CHECK(s.checker().wrongly_released() == 1);
  }
  SECTION("too soon, as the later response to a renewal shows") {
    CHECK_FALSE(s.times_out(seconds(25)));
    CHECK(s.renewal(seconds(24), seconds(26), true));
  }
  SECTION("a renewal requested after the end proves nothing about it") {
    CHECK_FALSE(s.times_out(seconds(25)));
    CHECK_FALSE(s.renewal(seconds(26), seconds(27), false, s.applied()));
  }
}

TEST_CASE("sessions: a restore restarts the time of all sessions") {
  story s;
  const auto archive = s.applied();
  const auto rows = std::make_shared<const std::vector<state::dirty_row>>();
  s.commit(state::restore_begin{"r", log_index{archive}}, seconds(12));
  s.commit(state::restore_rows{"r", 0, rows}, seconds(12));
  s.commit(state::restore_commit{"r", 1}, seconds(12));
  const log_index restored{s.applied()};
  CHECK_FALSE(s.renewal(seconds(13), seconds(14), true, s.applied()));
  SECTION("earlier decisions end none") {
    CHECK_FALSE(s.commit(state::session_expire{{session}, {}}, seconds(15)));
    CHECK_FALSE(s.renewal(seconds(16), seconds(17), true, s.applied()));
  }
  SECTION("later decisions do, and are checked") {
    CHECK(s.commit(state::session_expire{{session}, restored}, seconds(15)));
    CHECK(s.checker().wrongly_released() == 1);
  }
  SECTION("older servers are sent ends that no restore invalidates") {
    CHECK_FALSE(s.times_out(seconds(15)));
    CHECK(s.checker().wrongly_released() == 0);
  }
}

TEST_CASE("sessions: a renewal reports the state at some moment between request and response") {
  story s;
  const auto alive = s.applied();
  CHECK(s.renewal(seconds(1), seconds(2), false, alive)); // it lived all the time
  s.times_out(seconds(20));
  CHECK_FALSE(s.renewal(seconds(21), seconds(22), false, s.applied()));
  CHECK(s.renewal(seconds(31), seconds(32), true, s.applied())); // it ended, and some client knew
  CHECK_FALSE(s.renewal(seconds(31), seconds(32), true, alive));
}

TEST_CASE("sessions: one that is not renewed ends at some time") {
  story s;
  s.checker().led(term_id{1}, seconds(2));
  s.renewal(seconds(3), seconds(4), true);
  CHECK_FALSE(s.checker().finish(seconds(24)));
  CHECK(s.checker().finish(seconds(60)));
  s.times_out(seconds(61));
  CHECK_FALSE(s.checker().finish(seconds(90)));
}

TEST_CASE("sessions: every leader proposes the end of a session in time") {
  story s;
  s.checker().led(term_id{1}, seconds(2));
  s.renewal(seconds(3), seconds(4), true);
  CHECK_FALSE(s.commit(set("a", "1"), milliseconds(26'900))); // 22 s by a slow clock and one more are over at 27
  SECTION("it proposes others for two seconds") {
    CHECK_FALSE(s.commit(set("a", "2"), milliseconds(27'100)));
    CHECK_FALSE(s.commit(set("a", "3"), milliseconds(28'100)));
    CHECK_FALSE(s.commit(set("a", "4"), milliseconds(29'100)));
    CHECK(s.commit(set("a", "5"), milliseconds(29'200)));
  }
  SECTION("it could propose none between them") {
    CHECK_FALSE(s.commit(set("a", "2"), milliseconds(27'100)));
    CHECK_FALSE(s.commit(set("a", "3"), milliseconds(33'000)));
    CHECK_FALSE(s.commit(set("a", "4"), milliseconds(34'000)));
    CHECK_FALSE(s.commit(set("a", "5"), milliseconds(35'000)));
    CHECK(s.commit(set("a", "6"), milliseconds(35'100)));
  }
  SECTION("it ended the session") {
    s.times_out(seconds(27));
    CHECK_FALSE(s.commit(set("a", "2"), seconds(28)));
    CHECK_FALSE(s.commit(set("a", "3"), seconds(40)));
  }
  SECTION("it could propose none for a long time") {
    CHECK_FALSE(s.commit(set("a", "2"), seconds(40)));
    CHECK_FALSE(s.times_out(seconds(41)));
  }
  SECTION("a server was stalled until now") {
    CHECK_FALSE(s.commit(set("a", "2"), milliseconds(27'100)));
    s.checker().resumed(seconds(40));
    CHECK_FALSE(s.commit(set("a", "3"), milliseconds(40'900)));
    CHECK_FALSE(s.commit(set("a", "4"), milliseconds(41'900)));
    CHECK_FALSE(s.commit(set("a", "5"), milliseconds(42'900)));
    CHECK_FALSE(s.commit(set("a", "6"), milliseconds(43'900)));
    CHECK(s.commit(set("a", "7"), milliseconds(44'000)));
  }
  SECTION("a renewal is in progress") {
    operation o;
    o.id = 99;
    o.renewal = session_renewal{session};
    o.invoked = seconds(20);
    s.checker().begun(o);
    CHECK_FALSE(s.commit(set("a", "2"), seconds(60)));
    CHECK_FALSE(s.commit(set("a", "3"), seconds(63)));
  }
}

TEST_CASE("sessions: a fence grows with each grant, and stays with it") {
  story s;
  CHECK_FALSE(s.acquire(7));
  CHECK_FALSE(s.acquire(7)); // the same grant
  CHECK(s.acquire(8));
  auto release = key_op(kv_verb::unlock, "k");
  release.session = session;
  s.commit(state::kv_write{release}, seconds(2));
  CHECK(s.acquire(7)); // another grant
  s.commit(state::kv_write{release}, seconds(3));
  CHECK_FALSE(s.acquire(9));
}

TEST_CASE("sessions: the semaphore has no more holders than its limit") {
  story s;
  const auto contend = [&](int n) {
    const auto id = std::to_string(n) + "0000000-0000-4000-8000-000000000000";
    state::session_create create;
    create.session.id = id;
    create.session.node = "m";
    s.commit(create, seconds(1));
    auto op = key_op(kv_verb::lock, "s/" + id);
    op.session = id;
    s.commit(state::kv_write{op}, seconds(1));
    return id;
  };
  const auto a = contend(1), b = contend(2), c = contend(3);
  CHECK_FALSE(s.commit(set("s/.holders", a + "," + b + ";1"), seconds(2)));
  CHECK(s.commit(set("s/.holders", a + "," + b + "," + c + ";2"), seconds(3)));
  s.commit(state::session_destroy{{a}, "destroyed"}, seconds(4)); // no longer holds anything
  CHECK_FALSE(s.commit(set("s/.holders", a + "," + b + "," + c + ";3"), seconds(5)));
}
