#include "protocol/lease/session_deadlines.hpp"

#include <catch2/catch.hpp>

using belay::lease::session_deadlines;
using namespace std::chrono_literals;
using list = std::vector<std::string>;

TEST_CASE("a session is due at twice its TTL, not before") {
  session_deadlines s;
  s.restart("a", 10s, 100s);
  CHECK(s.due(119s, 1s).empty());
  CHECK(s.due(120s, 1s) == list{"a"});
}

TEST_CASE("renewal starts the timer again; unknown sessions have none") {
  session_deadlines s;
  s.restart("a", 10s, 0s);
  CHECK(s.renew("a", 18s));
  CHECK_FALSE(s.renew("b", 18s));
  CHECK(s.due(37s, 1s).empty());
  CHECK(s.due(38s, 1s) == list{"a"});
}

TEST_CASE("due timers stay due until removed (C3), and are reported again only after the pause") {
  session_deadlines s;
  s.restart("b", 2s, 0s);
  s.restart("a", 1s, 0s);
  CHECK(s.due(10s, 5s) == list{"a", "b"}); // earliest first
  CHECK(s.due(14s, 5s).empty());
  CHECK(s.due(15s, 5s) == list{"a", "b"});
  s.remove("a");
  s.remove("never");
  CHECK(s.due(20s, 5s) == list{"b"});
  CHECK(s.renew("b", 21s)); // a renewal that arrives before the end was committed counts
  CHECK(s.due(24s, 5s).empty());
  CHECK(s.due(25s, 5s) == list{"b"});
}

TEST_CASE("no more sessions are due at once than the caller takes, and renewed ones do not count") {
  session_deadlines s;
  for (const char* id : {"a", "b", "c", "d", "e"})
    s.restart(id, 1s, 0s);
  CHECK(s.renew("a", 5s));
  CHECK(s.due(6s, 1s, 2) == list{"b", "c"});
  CHECK(s.due(6s, 1s, 2) == list{"d", "e"});
  CHECK(s.due(6s, 1s, 2).empty());
  CHECK(s.due(7s, 1s, 3) == list{"b", "c", "a"});
  s.remove("d");
  CHECK(s.due(7s, 1s, 3) == list{"e"});
}

TEST_CASE("restart with another TTL replaces the timer; clear forgets all") {
  session_deadlines s;
  s.restart("a", 100s, 0s);
  s.restart("a", 1s, 0s);
  CHECK(s.size() == 1);
  CHECK(s.due(2s, 1s) == list{"a"});
  s.clear();
  CHECK(s.size() == 0);
  CHECK(s.due(1000s, 1s).empty());
}

// docs/reference/claims.md, rule 20: "never before TTL after an acknowledged renewal"; a timer, not a tick.
TEST_CASE("an exact session is due at its TTL, and reports when") {
  session_deadlines s;
  s.restart("a", 10s, 0s, belay::lease::precision::exact);
  s.restart("b", 3s, 0s);
  CHECK(s.next_exact() == 10s); // b has time until the next tick
  CHECK(s.due(6s, 1s) == list{"b"});
  CHECK(s.renew("a", 8s));
  CHECK(s.next_exact() == 18s);
  CHECK(s.left("a", 8s) == 10s);
  CHECK(s.due(17'999ms, 1s) == list{"b"});
  CHECK(s.due(18s, 1s) == list{"a"});
  CHECK(s.next_exact() == 19s); // reported again after the pause, while it exists
  s.remove("a");
  CHECK_FALSE(s.next_exact());
}

// docs/reference/claims.md, rule 20: while the leader was stalled it could not accept renewals either.
TEST_CASE("a stall of the leader prolongs exact sessions that end soon, and no others") {
  session_deadlines s;
  s.restart("ended", 8s, 0s, belay::lease::precision::exact);
  s.restart("soon", 11s, 0s, belay::lease::precision::exact);
  s.restart("later", 15s, 0s, belay::lease::precision::exact);
  s.restart("other", 5s, 0s);
  s.make_up_for(4s, 10s); // stalled from 6 s to 10 s
  CHECK(s.due(10s, 100s) == list{"other"});
  CHECK(s.left("ended", 10s) == 2s);
  CHECK(s.due(12s, 100s) == list{"ended"});
  CHECK(s.due(13'999ms, 100s).empty());
  CHECK(s.due(14s, 100s) == list{"soon"});
  CHECK(s.due(15s, 100s) == list{"later"});
}

// A machine that runs half of the time still ends sessions.
TEST_CASE("repeated stalls keep no exact session alive forever") {
  session_deadlines s;
  s.restart("exact", 10s, 0s, belay::lease::precision::exact);
  auto now = 0s;
  for (; now < 60s && s.due(now, 100s).empty(); now += 2s)
    s.make_up_for(2s, now);
  CHECK(now <= 20s);
}
