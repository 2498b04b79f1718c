// Barriers of linearizable reads: who gets the request, whose response counts, and timeouts.

#include "tests/unit/protocol/forward/described.hpp"

#include <catch2/catch.hpp>

#include <set>

using namespace belay;
using namespace belay::forward;
using namespace belay::forward::testing;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr local_time barrier_deadline = seconds(7);
constexpr log_index commit{10};

/// Server 1, and the actions that it gets.
struct barrier_story {
  pending_barriers barriers{self, 42};
  std::uint64_t attempt = 0; ///< id of the last request to a quorum or to another leader
  std::set<std::uint64_t> attempts;

  lines take() {
    const auto actions = barriers.take_actions();
    for (const auto& a : actions) {
      if (const auto* here = std::get_if<confirm_leadership>(&a))
        requested(here->attempt);
      else if (const auto* sent = std::get_if<to_peer>(&a))
        if (const auto* question = std::get_if<read_index>(&sent->what))
          requested(question->id);
    }
    return words_of(actions);
  }
  void requested(std::uint64_t id) {
    attempt = id;
    CHECK(attempts.insert(id).second); // never the same number twice
  }

  void enqueue(std::uint64_t id, bool lease_ok = false, node_id asker = self) {
    barriers.enqueue({asker, id, lease_ok, barrier_deadline});
    CHECK(take().empty());
  }
  lines go_on(const leadership& now) {
    barriers.go_on(now, commit);
    return take();
  }
  lines confirmed(std::uint64_t of_attempt, std::uint64_t index) {
    barriers.confirmed(of_attempt, log_index{index});
    return take();
  }
  lines failed(std::uint64_t of_attempt) {
    barriers.failed(of_attempt);
    return take();
  }
  lines answered(node_id by, std::uint64_t of_attempt, bool ok, std::uint64_t index = 0) {
    barriers.answered(by, {of_attempt, ok, log_index{index}});
    return take();
  }
};

} // namespace

TEST_CASE("which server confirms a barrier") {
  struct row {
    const char* story;
    leadership now;
    bool lease_ok; // the reader relies on it
    node_id asker;
    lines expected;
  };
  // clang-format off
  const row rows[] = {
      {"no leader, it waits",            leaderless(),                true,  self,  {}},
      {"leader, default mode",           led_here(),                  true,  self,  {"barrier 7 at 10"}},
      {"leader without lease",           led_here_without_a_lease(),  true,  self,  {"confirm leadership"}},
      {"leader, the quorum is wanted",   led_here(),                  false, self,  {"confirm leadership"}},
      {"leader, a follower asks",        led_here(),                  true,  third, {"to 3: read index 7 is 10"}},
      {"leader, a follower, no lease",   led_here_without_a_lease(),  true,  third, {"confirm leadership"}},
      {"follower",                       led_by(second),              false, self,  {"to 2: read index?"}},
      {"follower, default mode",         led_by(second),              true,  self,  {"to 2: read index? lease"}},
      {"follower by now, a third asks",  led_by(second),              true,  third, {"to 3: read index 7 unknown"}},
  };
  // clang-format on
  for (const auto& r : rows) {
    INFO(r.story);
    barrier_story s;
    s.enqueue(7, r.lease_ok, r.asker);
    CHECK(s.go_on(r.now) == r.expected);
    CHECK(s.barriers.none_waiting() == !r.expected.empty());
  }
}

TEST_CASE("a follower's question") {
  barrier_story s;
  SECTION("is for the leader alone") {
    s.barriers.requested_by(third, {77, true}, false, barrier_deadline);
    CHECK(s.take() == lines{"to 3: read index 77 unknown"});
    CHECK(s.barriers.none_waiting());
  }
  SECTION("is answered with the follower's own number") {
    s.barriers.requested_by(third, {77, false}, true, barrier_deadline);
    CHECK(s.go_on(led_here()) == lines{"confirm leadership"});
    CHECK(s.confirmed(s.attempt, 12) == lines{"to 3: read index 77 is 12"});
  }
  SECTION("that was not confirmed in time is answered as failed") {
    s.barriers.requested_by(third, {77, false}, true, barrier_deadline);
    s.go_on(led_here());
    s.barriers.expire(barrier_deadline);
    CHECK(s.take() == lines{"to 3: read index 77 unknown"});
  }
}

TEST_CASE("the quorum says yes or no") {
  barrier_story s;
  s.enqueue(7);
  REQUIRE(s.go_on(led_here()) == lines{"confirm leadership"});
  const auto first = s.attempt;
  SECTION("yes") {
    CHECK(s.confirmed(first, 12) == lines{"barrier 7 at 12"});
    CHECK(s.confirmed(first, 12).empty());
  }
  SECTION("no: requested again, and a response to the first attempt has no effect") {
    CHECK(s.failed(first).empty());
    CHECK_FALSE(s.barriers.none_waiting());
    CHECK(s.go_on(led_by(second)) == lines{"to 2: read index?"});
    CHECK(s.confirmed(first, 12).empty());
    CHECK(s.answered(second, first, true, 12).empty());
    CHECK(s.answered(second, s.attempt, true, 13) == lines{"barrier 7 at 13"});
  }
  SECTION("a response of another node to such an attempt has no effect") {
    CHECK(s.answered(second, first, true, 99).empty());
    CHECK(s.confirmed(first, 12) == lines{"barrier 7 at 12"});
  }
  SECTION("an attempt that was never made") {
    CHECK(s.confirmed(first + 1, 12).empty());
    CHECK(s.failed(first + 1).empty());
  }
}

TEST_CASE("the leader says yes, no, or nothing") {
  barrier_story s;
  s.enqueue(7);
  REQUIRE(s.go_on(led_by(second)) == lines{"to 2: read index?"});
  const auto first = s.attempt;
  SECTION("yes") {
    CHECK(s.answered(second, first, true, 12) == lines{"barrier 7 at 12"});
    CHECK(s.answered(second, first, true, 12).empty());
  }
  SECTION("a yes from a node that was not asked") {
    CHECK(s.answered(third, first, true, 12).empty());
    CHECK(s.answered(third, first, false).empty());
    CHECK(s.answered(second, first, true, 13) == lines{"barrier 7 at 13"});
  }
  SECTION("no: asked again, but not at once") {
    CHECK(s.answered(second, first, false).empty());
    CHECK(s.go_on(led_by(second)).empty());
    s.barriers.ask_again();
    CHECK(s.go_on(led_by(second)) == lines{"to 2: read index?"});
    CHECK(s.answered(second, first, true, 12).empty());
    CHECK(s.answered(second, s.attempt, true, 13) == lines{"barrier 7 at 13"});
  }
  SECTION("the connection to it breaks") {
    s.barriers.peer_lost(third);
    CHECK(s.barriers.none_waiting());
    s.barriers.peer_lost(second);
    CHECK(s.go_on(led_by(second)) == lines{"to 2: read index?"});
    CHECK(s.answered(second, first, true, 12).empty());
  }
  SECTION("it leads in the next term as well") {
    s.barriers.leader_changed(second);
    CHECK(s.barriers.none_waiting());
    CHECK(s.answered(second, first, true, 12) == lines{"barrier 7 at 12"});
  }
  SECTION("another one leads") {
    s.barriers.leader_changed(third);
    CHECK(s.go_on(led_by(third)) == lines{"to 3: read index?"});
    CHECK(s.answered(second, first, true, 12).empty());
    CHECK(s.answered(third, s.attempt, true, 13) == lines{"barrier 7 at 13"});
  }
  SECTION("nobody leads") {
    s.barriers.leader_changed({});
    CHECK(s.go_on(leaderless()).empty());
    CHECK(s.go_on(led_here()) == lines{"confirm leadership"});
  }
  SECTION("nothing, until the reader has waited long enough") {
    s.barriers.expire(barrier_deadline - milliseconds(1));
    CHECK(s.take().empty());
    s.barriers.expire(barrier_deadline);
    CHECK(s.take() == lines{"barrier 7 failed"});
    CHECK(s.answered(second, first, true, 12).empty());
  }
}

TEST_CASE("barriers of the quorum survive a lost connection and a new leader") {
  // The core reports itself when it cannot confirm a read.
  barrier_story s;
  s.enqueue(7);
  s.go_on(led_here());
  s.barriers.peer_lost(second);
  s.barriers.leader_changed(second);
  CHECK(s.barriers.none_waiting());
  CHECK(s.confirmed(s.attempt, 12) == lines{"barrier 7 at 12"});
}

TEST_CASE("a barrier that waits for a leader fails at its deadline") {
  barrier_story s;
  s.enqueue(7);
  s.enqueue(8);
  s.go_on(leaderless());
  s.barriers.expire(barrier_deadline - milliseconds(1));
  CHECK(s.take().empty());
  s.barriers.expire(barrier_deadline);
  CHECK(s.take() == lines{"barrier 7 failed", "barrier 8 failed"});
  CHECK(s.barriers.none_waiting());
}

// The client of such a read has closed its side, and may be gone.
TEST_CASE("a barrier that does not wait fails while there is no leader") {
  barrier_story s;
  s.enqueue(1);
  s.barriers.enqueue({self, 2, false, barrier_deadline, {}, false});
  SECTION("at once") {
    CHECK(s.go_on(leaderless()) == lines{"barrier 2 failed"});
    CHECK_FALSE(s.barriers.none_waiting());
  }
  SECTION("when the leader that was asked is lost") {
    CHECK(s.go_on(led_by(second)).size() == 2);
    s.barriers.leader_changed(node_id{});
    CHECK(s.go_on(leaderless()) == lines{"barrier 2 failed"});
    CHECK_FALSE(s.barriers.none_waiting());
  }
}
