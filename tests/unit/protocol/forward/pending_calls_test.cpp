// A call from arrival to result: queued, proposed or forwarded once, done, refused or unknown.

#include "tests/unit/protocol/forward/described.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::forward;
using namespace belay::forward::testing;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr local_time deadline = seconds(7);
constexpr log_index nothing_committed{0};

/// Server 1, and the actions that it gets.
struct story {
  pending_calls calls{self};

  lines take() { return words_of(calls.take_actions()); }

  /// A client of this node, or of another node that forwarded the call.
  lines enqueue(std::uint64_t id, std::string bytes, call_kind kind = call_kind::propose, node_id from = self) {
    calls.enqueue({{from, request_id{id}}, kind, make_payload(std::move(bytes)), deadline});
    return take();
  }
  lines go_on(const leadership& now) {
    calls.go_on(now);
    return take();
  }
  /// The leader responds. `index`: of the entry
  lines answered(node_id from, std::uint64_t id, call_outcome outcome, std::string bytes = {}, log_index index = {},
                 log_index commit = log_index{100}) {
    calls.answered(from, {request_id{id}, outcome, index, std::move(bytes)}, commit);
    return take();
  }
  /// Proposes the queued calls, the first of them at `first`.
  void propose(log_index first) {
    calls.go_on(led_here());
    for (auto& action : calls.take_actions())
      calls.proposed(first, std::get<propose_here>(action).batch);
  }
};

std::vector<raft::entry> entries(std::uint64_t first, std::uint64_t last) {
  std::vector<raft::entry> all;
  for (auto i = first; i <= last; ++i)
    all.push_back({log_index{i}, term_id{5}, cluster_time{1}, raft::entry_kind::command, make_payload("")});
  return all;
}

std::vector<std::uint64_t> ids(const std::vector<origin>& origins) {
  std::vector<std::uint64_t> all;
  for (const auto& o : origins)
    all.push_back(o.id.value);
  return all;
}

} // namespace

TEST_CASE("a call waits until there is a leader") {
  story s;
  CHECK(s.enqueue(1, "a").empty());
  CHECK(s.enqueue(2, "b").empty());
  CHECK(s.go_on(leaderless()).empty());
  SECTION("here: all that is held is proposed at once, in order") {
    CHECK(s.go_on(led_here()) == lines{"propose a b"});
    CHECK(s.calls.none_queued());
  }
  SECTION("elsewhere: it is forwarded, once") {
    CHECK(s.go_on(led_by(second)) == lines{"to 2: call 1 propose a", "to 2: call 2 propose b"});
    CHECK(s.calls.none_queued());
    CHECK(s.go_on(led_by(second)).empty());
  }
}

TEST_CASE("what a leader does with a call depends on its kind") {
  story s;
  s.enqueue(1, "a");
  s.enqueue(2, "session", call_kind::renew_session, third);
  s.enqueue(3, "id x", call_kind::remove_member);
  s.enqueue(4, "1 2 v", call_kind::describe_health);
  SECTION("everything at once, the log last") {
    CHECK(s.go_on(led_here()) ==
          lines{"renew session for 3/2", "decide remove_member id x", "decide describe_health 1 2 v", "propose a"});
  }
  SECTION("renewals wait until an entry of the leader's own term is committed") {
    CHECK(s.go_on(led_here(5, false)) ==
          lines{"decide remove_member id x", "decide describe_health 1 2 v", "propose a"});
    CHECK(s.go_on(led_here(5, true)) == lines{"renew session for 3/2"});
  }
}

TEST_CASE("a call that the log does not accept now waits for its turn") {
  story s;
  s.enqueue(1, "a");
  s.enqueue(2, "b");
  s.calls.go_on(led_here());
  auto actions = s.calls.take_actions();
  s.calls.not_proposed(std::get<propose_here>(actions.front()).batch);
  s.enqueue(3, "c");
  CHECK(s.go_on(led_here()) == lines{"propose a b c"});
}

TEST_CASE("a proposal of this node itself is of one term or none") {
  // A session timer fired in term 5. In term 6 another leader may have renewed the session.
  story s;
  s.calls.enqueue({{}, call_kind::propose, make_payload("expire"), deadline, term_id{5}});
  SECTION("the term is still the same") {
    CHECK(s.go_on(led_here(5)) == lines{"propose expire"});
  }
  SECTION("a later leadership of the same node") {
    CHECK(s.go_on(led_here(6)).empty());
    CHECK(s.go_on(led_here(5)).empty());
  }
  SECTION("it is not forwarded to another leader") {
    CHECK(s.go_on(led_by(second)).empty());
    CHECK(s.calls.none_queued());
  }
  SECTION("no response reports that it expired") {
    s.calls.expire(deadline, leaderless());
    CHECK(s.take().empty());
  }
}

TEST_CASE("a call that was forwarded to this node is not forwarded again") {
  // Two nodes that each take the other for the leader would forward it back and forth.
  story s;
  const call c{request_id{9}, call_kind::propose, make_payload("a")};
  SECTION("this node does not lead") {
    CHECK(s.calls.take_over(third, c, false, deadline));
    CHECK(s.take() == lines{"to 3: reply 9 retry"});
    CHECK(s.calls.none_queued());
  }
  SECTION("this node loses the leadership before it could propose it") {
    CHECK(s.calls.take_over(third, c, true, deadline));
    CHECK(s.take().empty());
    CHECK(s.go_on(led_by(second)) == lines{"to 3: reply 9 retry"});
    CHECK(s.calls.none_queued());
  }
}

TEST_CASE("a request above the limit of queued calls is rejected at once") {
  story s;
  for (std::size_t i = 0; i < queued_calls::count_max; ++i)
    REQUIRE(s.calls.enqueue({{self, request_id{i + 1}}, call_kind::propose, make_payload(""), deadline}));
  CHECK_FALSE(s.calls.enqueue({{self, request_id{70'001}}, call_kind::propose, make_payload(""), deadline}));
  CHECK(s.take() == lines{"tell 70001 refused: too many writes are waiting, try again"});
  CHECK_FALSE(s.calls.take_over(third, {request_id{70'002}, call_kind::propose, make_payload("")}, true, deadline));
  CHECK(s.take() == lines{"to 3: reply 70002 refused: too many writes are waiting, try again"});
}

TEST_CASE("answers of the leader find their call") {
  story s;
  s.enqueue(1, "a");
  s.enqueue(2, "b");
  s.go_on(led_by(second));

  // response                                                      the result for the client
  SECTION("done") {
    CHECK(s.answered(second, 2, call_outcome::done, "true") == lines{"answer 2 b: true"});
    CHECK(s.answered(second, 1, call_outcome::done, "false") == lines{"answer 1 a: false"});
  }
  SECTION("refused") {
    CHECK(s.answered(second, 1, call_outcome::refused, "no") == lines{"tell 1 refused: no"});
  }
  SECTION("unknown stays unknown") {
    CHECK(s.answered(second, 1, call_outcome::unknown, "lost") == lines{"tell 1 unknown: lost"});
  }
  SECTION("from a node that was not asked: nothing") {
    CHECK_FALSE(s.calls.answered(third, {request_id{1}, call_outcome::done, {}, "true"}, nothing_committed));
    CHECK(s.take().empty());
    CHECK(s.answered(second, 1, call_outcome::done, "true") == lines{"answer 1 a: true"});
  }
  SECTION("to a call that does not exist: nothing") {
    CHECK_FALSE(s.calls.answered(second, {request_id{3}, call_outcome::done, {}, "true"}, nothing_committed));
    CHECK(s.take().empty());
  }
  SECTION("twice: the second one is nothing") {
    s.answered(second, 1, call_outcome::done, "true");
    CHECK_FALSE(s.calls.answered(second, {request_id{1}, call_outcome::done, {}, "true"}, nothing_committed));
    CHECK(s.take().empty());
  }
}

TEST_CASE("an answer waits until this node has the entry") {
  // Otherwise a client could write through a follower, and not find its write there (?stale).
  story s;
  for (std::uint64_t id : {1, 2, 3})
    s.enqueue(id, "w" + std::to_string(id));
  s.enqueue(4, "session", call_kind::renew_session);
  s.go_on(led_by(second));
  CHECK(s.answered(second, 1, call_outcome::done, "x", log_index{12}, log_index{10}).empty());
  CHECK(s.answered(second, 2, call_outcome::done, "y", log_index{11}, log_index{10}).empty());
  CHECK(s.answered(second, 3, call_outcome::done, "z", log_index{10}, log_index{10}) == lines{"answer 3 w3: z"});
  CHECK(s.answered(second, 4, call_outcome::done, "", {}, log_index{10}) == lines{"answer 4 session: "});
  s.calls.committed_here(log_index{11});
  CHECK(s.take() == lines{"answer 2 w2: y"});
  s.calls.committed_here(log_index{20});
  CHECK(s.take() == lines{"answer 1 w1: x"});
  s.calls.committed_here(log_index{30});
  CHECK(s.take().empty());
}

TEST_CASE("a server that was asked in vain is retried, but not at once") {
  story s;
  s.enqueue(1, "a");
  s.go_on(led_by(second));
  CHECK(s.answered(second, 1, call_outcome::retry).empty());
  CHECK(s.go_on(led_by(second)).empty());
  s.calls.ask_again();
  SECTION("the same node") {
    CHECK(s.go_on(led_by(second)) == lines{"to 2: call 1 propose a"});
  }
  SECTION("the next leader, and a response of the first one no longer counts") {
    CHECK(s.go_on(led_by(third)) == lines{"to 3: call 1 propose a"});
    CHECK(s.answered(second, 1, call_outcome::done, "true").empty());
    CHECK(s.answered(third, 1, call_outcome::done, "true") == lines{"answer 1 a: true"});
  }
  SECTION("this node, which leads by now") {
    CHECK(s.go_on(led_here()) == lines{"propose a"});
  }
}

TEST_CASE("a forwarded write whose leader is lost is of unknown outcome, a renewal is repeated") {
  story s;
  s.enqueue(1, "a");
  s.enqueue(2, "session", call_kind::renew_session);
  s.go_on(led_by(second));
  SECTION("the connection broke") {
    s.calls.peer_lost(third);
    CHECK(s.take().empty());
    s.calls.peer_lost(second);
    CHECK(s.take() == lines{"tell 1 unknown: rpc error making call: EOF"});
    CHECK(s.go_on(led_by(third)) == lines{"to 3: call 2 renew_session session"});
  }
  SECTION("another one leads") {
    s.calls.leader_changed(second);
    CHECK(s.take().empty());
    s.calls.leader_changed(third);
    CHECK(s.take() == lines{"tell 1 unknown: leadership lost while committing log"});
    CHECK(s.go_on(led_by(third)) == lines{"to 3: call 2 renew_session session"});
  }
  SECTION("nobody leads") {
    s.calls.leader_changed({});
    CHECK(s.take() == lines{"tell 1 unknown: leadership lost while committing log"});
  }
  CHECK(s.answered(second, 1, call_outcome::done, "true").empty());
}

TEST_CASE("no call waits forever") {
  story s;
  SECTION("held: refused at its deadline, for it did not happen and will not") {
    s.enqueue(1, "a");
    s.enqueue(8, "b", call_kind::propose, third);
    s.calls.expire(deadline - milliseconds(1), leaderless());
    CHECK(s.take().empty());
    s.calls.expire(deadline, leaderless());
    CHECK(s.take() == lines{"tell 1 refused: No cluster leader", "to 3: reply 8 refused: No cluster leader"});
    CHECK(s.go_on(led_here()).empty());
  }
  SECTION("forwarded in vain: the same, when it is queued again") {
    s.enqueue(1, "a");
    s.go_on(led_by(second));
    s.answered(second, 1, call_outcome::retry);
    s.calls.expire(deadline, leaderless());
    CHECK(s.take().empty());
    s.calls.ask_again();
    s.calls.expire(deadline, leaderless());
    CHECK(s.take() == lines{"tell 1 refused: No cluster leader"});
  }
  SECTION("proposed here: unknown, a second later, if it is not committed; a node that forwarded its call notices that "
          "by itself") {
    s.enqueue(1, "a");
    s.enqueue(8, "b", call_kind::propose, third);
    s.enqueue(2, "c");
    s.propose(log_index{5});
    s.calls.expire(deadline + seconds(1) - milliseconds(1), leaderless());
    CHECK(s.take().empty());
    s.calls.expire(deadline + seconds(1), leaderless());
    CHECK(s.take() == lines{"tell 1 unknown: rpc error making call: i/o timeout",
                            "tell 2 unknown: rpc error making call: i/o timeout"});
    s.calls.expire(deadline + seconds(2), leaderless());
    CHECK(s.take().empty());
    // When it is committed after all, only the other node is notified.
    CHECK(ids(s.calls.committed(entries(5, 7))) == std::vector<std::uint64_t>{0, 8, 0});
  }
  SECTION("forwarded: unknown, a second later, because the leader may have proposed it") {
    s.enqueue(1, "a");
    s.go_on(led_by(second));
    s.calls.expire(deadline + seconds(1) - milliseconds(1), leaderless());
    CHECK(s.take().empty());
    s.calls.expire(deadline + seconds(1), leaderless());
    CHECK(s.take() == lines{"tell 1 unknown: rpc error making call: i/o timeout"});
    CHECK(s.answered(second, 1, call_outcome::done, "true").empty());
  }
}

TEST_CASE("a write that the leader has done is answered by the deadline, even if this node does not learn the entry") {
  // A follower's disk is full: the write is done, and its client must not wait forever.
  story s;
  s.enqueue(1, "a");
  s.go_on(led_by(second));
  CHECK(s.answered(second, 1, call_outcome::done, "true", log_index{20}, log_index{19}).empty());
  s.calls.expire(deadline - milliseconds(1), leaderless());
  CHECK(s.take().empty());
  s.calls.expire(deadline, leaderless());
  CHECK(s.take().size() == 1);
  s.calls.committed_here(log_index{20});
  CHECK(s.take().empty());
}

TEST_CASE("a call that returns to a full queue is rejected, not forgotten") {
  const auto fill = [](story& s) {
    for (std::size_t i = 0; i < queued_calls::count_max; ++i)
      REQUIRE(s.calls.enqueue({{self, request_id{i + 1}}, call_kind::propose, make_payload(""), deadline}));
    (void)s.take();
  };
  story s;
  s.enqueue(70'001, "a");
  s.go_on(led_by(second));
  SECTION("the one that was asked does not lead") {
    s.answered(second, 70'001, call_outcome::retry);
    fill(s);
    s.calls.ask_again();
    CHECK(s.take() == lines{"tell 70001 refused: too many writes are waiting, try again"});
  }
  SECTION("the log accepts no more entries") {
    fill(s);
    s.calls.not_proposed({{{self, request_id{70'002}}, call_kind::propose, make_payload(""), deadline}});
    CHECK(s.take() == lines{"tell 70002 refused: too many writes are waiting, try again"});
  }
}

TEST_CASE("a renewal that the session timers could not decide is retried") {
  story s;
  s.calls.renewal_undecided({self, request_id{1}}, make_payload("mine"), deadline);
  s.calls.renewal_undecided({third, request_id{2}}, make_payload("theirs"), deadline);
  CHECK(s.take() == lines{"to 3: reply 2 retry"});
  CHECK(s.go_on(led_here()).empty());
  s.calls.ask_again();
  CHECK(s.go_on(led_here()) == lines{"renew mine for 1/1"});
}

TEST_CASE("a leader without a lease has itself confirmed before it renews") {
  // The lease may be given up for the rest of a term: a failed leadership transfer does that.
  story s;
  s.enqueue(1, "mine", call_kind::renew_session);
  s.enqueue(2, "theirs", call_kind::renew_session, third);
  REQUIRE(s.go_on(led_here_without_a_lease()) == lines{"confirm leadership"});
  SECTION("each once") {
    s.calls.confirmed(1);
    CHECK(s.take() == lines{"confirmed, renew mine for 1/1", "confirmed, renew theirs for 3/2"});
    s.calls.confirmed(1);
    s.calls.failed(1);
    CHECK(s.take().empty());
  }
  SECTION("a later call is not confirmed by an earlier round") {
    s.enqueue(3, "later", call_kind::renew_session);
    CHECK(s.go_on(led_here_without_a_lease()) == lines{"confirm leadership"});
    s.calls.confirmed(1);
    CHECK(s.take() == lines{"confirmed, renew mine for 1/1", "confirmed, renew theirs for 3/2"});
    s.calls.confirmed(2);
    CHECK(s.take() == lines{"confirmed, renew later for 1/3"});
  }
  SECTION("no: the next leader is asked") {
    s.calls.failed(1);
    CHECK(s.take() == lines{"to 3: reply 2 retry"});
    s.calls.ask_again();
    CHECK(s.go_on(led_by(second)) == lines{"to 2: call 1 renew_session mine"});
  }
  SECTION("no answer: rejected at the deadline") {
    s.calls.expire(deadline, leaderless());
    CHECK(s.take() == lines{"tell 1 refused: No cluster leader", "to 3: reply 2 refused: No cluster leader"});
    s.calls.confirmed(1);
    CHECK(s.take().empty());
  }
}

TEST_CASE("each committed entry finds its waiters") {
  story s;
  SECTION("none was proposed here: nothing to report") {
    CHECK(s.calls.committed(entries(1, 3)).empty());
  }
  SECTION("all in order, whatever is committed at once") {
    s.enqueue(11, "a");
    s.enqueue(12, "b", call_kind::propose, third);
    s.propose(log_index{4});
    s.enqueue(13, "c");
    s.propose(log_index{6});
    const auto first = s.calls.committed(entries(3, 5));
    CHECK(ids(first) == std::vector<std::uint64_t>{0, 11, 12});
    CHECK(first[1].node == self);
    CHECK(first[2].node == third);
    CHECK(ids(s.calls.committed(entries(6, 7))) == std::vector<std::uint64_t>{13, 0});
    CHECK(s.calls.committed(entries(8, 9)).empty());
  }
  SECTION("entries of the core itself between two proposals belong to no call") {
    s.enqueue(11, "a");
    s.propose(log_index{4});
    s.enqueue(12, "b");
    s.propose(log_index{7});
    CHECK(ids(s.calls.committed(entries(4, 7))) == std::vector<std::uint64_t>{11, 0, 0, 12});
  }
  SECTION("a snapshot took the place of some of them") {
    s.enqueue(11, "a");
    s.enqueue(12, "b", call_kind::propose, third);
    s.enqueue(13, "c");
    s.propose(log_index{4});
    CHECK(ids(s.calls.committed(entries(6, 7))) == std::vector<std::uint64_t>{13, 0});
    CHECK(s.take() == lines{"tell 11 unknown: leadership lost while committing log",
                            "to 3: reply 12 unknown: leadership lost while committing log"});
  }
}

TEST_CASE("proposals of this server become unknown with its leadership") {
  story s;
  for (std::uint64_t id : {11, 12, 13})
    s.enqueue(id, "w");
  s.enqueue(14, "w", call_kind::propose, third);
  s.propose(log_index{4});
  // 4 and 5 seem to be committed by the next leader; the outcome of 6 and 7 is unknown here.
  s.calls.unknown_from(log_index{6});
  CHECK(s.take() == lines{"to 3: reply 14 unknown: leadership lost while committing log",
                          "tell 13 unknown: leadership lost while committing log"});
  CHECK(ids(s.calls.committed(entries(4, 7))) == std::vector<std::uint64_t>{11, 12, 0, 0});
}

TEST_CASE("a node without a request gets no answer") {
  story s;
  s.calls.respond({self, {}}, call_outcome::unknown, "x");
  s.calls.respond({}, call_outcome::refused, "x");
  CHECK(s.take().empty());
}

// A client that closes its side while its write waits for a leader may be gone. A call that keeps
// waiting keeps the connection; two hundred of them lock out all others at that address.
TEST_CASE("a call whose client may be gone is rejected while there is no leader") {
  story s;
  s.enqueue(1, "a");
  s.enqueue(2, "b");
  s.calls.end_wait(request_id{1});
  SECTION("while it is held") {
    s.calls.expire(local_time{0}, leaderless());
    CHECK(s.take() == lines{"tell 1 refused: No cluster leader"});
    CHECK(s.go_on(led_here()) == lines{"propose b"});
  }
  SECTION("but not if there is a leader and the call only waits for its turn") {
    s.calls.expire(local_time{0}, led_here());
    CHECK(s.take().empty());
    CHECK(s.go_on(led_here()) == lines{"propose a b"});
  }
  SECTION("when the leader is lost before its turn comes") {
    s.calls.expire(local_time{0}, led_here());
    s.calls.expire(local_time{0}, leaderless());
    CHECK(s.take() == lines{"tell 1 refused: No cluster leader"});
  }
}

TEST_CASE("a call whose client may be gone is rejected when the leader returns it and there is no leader") {
  story s;
  s.enqueue(1, "a");
  s.go_on(led_by(second));
  s.calls.end_wait(request_id{1});
  s.calls.expire(local_time{0}, leaderless());
  CHECK(s.take().empty()); // the leader may be processing it
  s.answered(second, 1, call_outcome::retry);
  s.calls.ask_again();
  s.calls.expire(local_time{0}, leaderless());
  CHECK(s.take() == lines{"tell 1 refused: No cluster leader"});
}

TEST_CASE("a call of another node is not refused for a client of this node") {
  story s;
  s.enqueue(1, "theirs", call_kind::propose, third);
  s.enqueue(2, "ours");
  s.calls.end_wait(request_id{1});
  s.calls.expire(local_time{0}, leaderless());
  CHECK(s.take().empty());
}
