#include "tests/unit/client/virtual_cluster.hpp"

#include <belay/clock_guard.hpp>
#include <belay/session.hpp>

using namespace belay;
using namespace belay::client_tests;

namespace {

session_options ten_seconds() {
  session_options o;
  o.ttl = milliseconds(10000);
  o.lock_delay = milliseconds(0);
  return o;
}

} // namespace

TEST_CASE("a session is renewed at a third of its TTL and lives on", "[client]") {
  virtual_cluster c;
  session s(c.client, ten_seconds());
  REQUIRE(c.run(s.open(c.within(seconds(5)))));
  CHECK(s.has_claims());
  c.pass(minutes(10));
  CHECK(s.state() == session_state::live);
  CHECK(s.safe());
  CHECK(c.server.sessions().count(s.id()) == 1);
  auto renewals = c.server.requests("PUT /v1/session/renew/");
  CHECK(renewals >= 175);
  CHECK(renewals <= 205);
  REQUIRE(c.run(s.close(c.within(seconds(5)))));
  CHECK(c.server.sessions().empty());
  CHECK(s.state() == session_state::closed);
}

// An election of eight seconds: the session is uncertain and survives. One that takes longer than
// the TTL loses it, at safe_until() and not later.
TEST_CASE("a session survives an election, and is lost without responses in time", "[client]") {
  virtual_cluster c;
  session s(c.client, ten_seconds());
  REQUIRE(c.run(s.open(c.within(seconds(5)))));
  c.pass(seconds(60));
  c.server.leaderless = true;
  c.pass(seconds(5));
  CHECK(s.state() == session_state::uncertain);
  CHECK(s.safe());
  c.server.leaderless = false;
  c.pass(seconds(2));
  CHECK(s.state() == session_state::live);

  c.server.silent = true;
  auto end = s.safe_until();
  std::optional<instant> lost_at;
  s.on_change([&] {
    if (s.state() == session_state::lost && !lost_at)
      lost_at = c.time.now();
  });
  c.pass(seconds(20));
  REQUIRE(lost_at);
  CHECK(*lost_at >= end);
  CHECK(*lost_at - end < milliseconds(10));
  CHECK(s.lost_reason() == "no renewal was acknowledged in time");
  CHECK(s.ended().stopped());
  c.server.silent = false;
  auto before = s.id();
  REQUIRE(c.run(s.open(c.within(seconds(5)))));
  CHECK(s.id() != before);
  CHECK_FALSE(s.ended().stopped());
}

TEST_CASE("the reason for the loss of a session is reported if the server provides it", "[client]") {
  for (auto speaks : {dialect::belay, dialect::consul}) {
    virtual_cluster c(speaks);
    session s(c.client, ten_seconds());
    REQUIRE(c.run(s.open(c.within(seconds(5)))));
    CHECK(s.has_claims() == (speaks == dialect::belay));
    c.server.destroy(s.id());
    c.pass(seconds(5));
    CHECK(s.state() == session_state::lost);
    CHECK_FALSE(s.safe());
    CHECK(s.lost_reason() ==
          (speaks == dialect::belay ? "destroyed by operator" : "the server no longer has the session"));
  }
}

TEST_CASE("exact TTLs are refused where there are none", "[client]") {
  virtual_cluster c(dialect::consul);
  auto o = ten_seconds();
  o.mode = session_mode::exact;
  session s(c.client, o);
  auto opened = c.run(s.open(c.within(seconds(5))));
  CHECK(opened.reason() == reason::unsupported);
}

TEST_CASE("a session is not renewed while the clocks are not trusted", "[client]") {
  virtual_cluster c;
  std::chrono::seconds wrong{0};
  clock_guard_options watched;
  watched.wall = [&] {
    return std::chrono::system_clock::time_point(
        std::chrono::duration_cast<std::chrono::microseconds>(c.time.now().time_since_epoch()) + wrong);
  };
  clock_guard guard(c.client, watched);
  auto o = ten_seconds();
  o.guard = &guard;
  session s(c.client, o);
  CHECK(guard.look() == clock_trust::trusted);
  REQUIRE(c.run(s.open(c.within(seconds(5)))));
  c.pass(seconds(30));
  CHECK(guard.look() == clock_trust::trusted);
  wrong = std::chrono::seconds(30);
  CHECK(guard.look() == clock_trust::noticed);
  c.pass(seconds(30));
  CHECK(s.state() == session_state::live);
  wrong = std::chrono::seconds(3600);
  CHECK(guard.look() == clock_trust::distrusted);
  c.pass(seconds(11));
  CHECK(s.state() == session_state::lost);
}

TEST_CASE("a session may be destroyed at any step", "[client]") {
  for (int steps = 0; steps < 60; ++steps) {
    virtual_cluster c;
    auto s = std::make_unique<session>(c.client, ten_seconds());
    auto opening = s->open(c.within(seconds(5)));
    opening.start();
    for (int i = 0; i < steps; ++i)
      c.time.step();
    opening.reset();
    s.reset();
    CHECK(c.client.waiting() == 0);
    c.pass(minutes(1));
    CHECK(c.server.sessions().empty());
  }
}
