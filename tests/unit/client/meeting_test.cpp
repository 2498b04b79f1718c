// Processes that wait for each other: barriers and latches.
#include "tests/unit/client/crew.hpp"

#include "client/core/json_answers.hpp"

#include <belay/barrier.hpp>
#include <belay/latch.hpp>

#include <array>
#include <map>
#include <set>

using namespace belay;
using namespace belay::client_tests;

namespace {

constexpr std::size_t together = 3;

virtual_time::fault_rates late_requests() {
  auto r = all_faults();
  r.request_late = 50'000;
  r.late_max = milliseconds(15'000);
  return r;
}

struct barrier_kit {
  explicit barrier_kit(session& s) : meets(s, "b", together) {}
  barrier meets;
};
using barrier_crew = crew<barrier_kit>;

/// What each session does at the barrier, as far as its process knows.
struct attendance {
  std::set<std::string> entering;                 ///< enter() may have counted it
  std::set<std::string> in_doubt;                 ///< one of its earlier calls may still be counted
  std::map<std::string, std::uint64_t> inside;    ///< passed, and has not begun to leave; with the round
  std::map<std::string, std::uint64_t> passed_in; ///< the last round that it has passed
  finding wrong;
};

/// The round in the key of the barrier.
struct shown_round {
  std::uint64_t number = 0;
  bool full = false;
  std::vector<std::string> sessions;
};

shown_round round_of(const model_server& server) {
  shown_round out;
  auto rows = detail::rows_in(server.value("b/.round").value_or(""));
  if (!rows || rows->empty())
    return out;
  out.number = *detail::number_in(rows->front()[0]);
  out.full = rows->front()[2] == "full";
  for (auto row = rows->begin() + 1; row != rows->end(); ++row)
    out.sessions.push_back((*row)[0]);
  return out;
}

task<void> attend(barrier_crew::member& m, model_server& server, attendance& seen) {
  for (;;) {
    bool open = co_await have_session(m.env, *m.s);
    if (!open)
      continue;
    std::string id = m.s->id();
    seen.entering.insert(id);
    deadline soon(m.env.now() + seconds(40));
    result<barrier_pass> pass = co_await m.kit->meets.enter(soon);
    if (!pass) {
      if (pass.unknown())
        seen.in_doubt.insert(id);
      if (!seen.in_doubt.count(id))
        seen.entering.erase(id);
      auto later = m.env.now() + milliseconds(100);
      co_await sleep_until(m.env, later, &m.s->ended());
      continue;
    }
    auto round = round_of(server);
    bool listed = std::find(round.sessions.begin(), round.sessions.end(), id) != round.sessions.end();
    // While it has not left, no later round begins as long as its session lives.
    if (server.sessions().count(id) && (round.number != pass->round() || !round.full || !listed))
      seen.wrong = "passed a round that is not full";
    if (seen.passed_in[id] >= pass->round())
      seen.wrong = "passed a round twice";
    seen.passed_in[id] = pass->round();
    seen.in_doubt.erase(id);
    seen.inside[id] = pass->round();
    auto number = pass->round();
    auto later = m.env.now() + milliseconds(m.env.random(4000));
    co_await sleep_until(m.env, later, &m.s->ended());
    seen.inside.erase(id);
    seen.entering.erase(id);
    deadline minute(m.env.now() + seconds(60));
    status left = co_await m.kit->meets.leave(std::move(*pass), minute);
    if (!left)
      continue;
    ++m.progress[0];
    for (const auto& [other, its_round] : seen.inside)
      if (its_round == number && server.sessions().count(other))
        seen.wrong = "left before the others";
  }
}

/// Each member of a full list is live and has called enter(); without faults rounds are quick.
finding run_barrier(dialect speaks, std::uint64_t seed, virtual_time::fault_rates rates = all_faults()) {
  virtual_cluster c(speaks, seed, rates);
  attendance seen;
  shown_round last;
  barrier_crew all(c, together, 1, [&](barrier_crew::member& m, std::size_t) { return attend(m, c.server, seen); });
  // A late copy of an enter() creates its key again. That does not count.
  if (rates.request_late > 0)
    all.excused_at_rest = [](const std::string& what) { return what.starts_with("key b/"); };
  auto look = [&]() -> finding {
    auto now = round_of(c.server);
    bool filled = now.full && (!last.full || last.number != now.number);
    last = now;
    if (!filled)
      return seen.wrong;
    std::set<std::string> once(now.sessions.begin(), now.sessions.end());
    if (once.size() != together)
      return "a full round of another number";
    for (const auto& id : once)
      if (!c.server.sessions().count(id) || !seen.entering.count(id))
        return "a full round with one who is not there";
    return seen.wrong;
  };
  // A round takes the 4 s in it, and a few requests.
  return all.run(look, minutes(6), 20);
}

// Latches

task<void> count_once(environment& env, latch& l, int& begun, int& done, int& unknown) {
  auto until = env.now() + milliseconds(env.random(20'000));
  co_await sleep_until(env, until);
  ++begun;
  deadline minute(env.now() + minutes(1));
  result<std::uint64_t> left = co_await l.count_down(minute);
  done += left.done() ? 1 : 0;
  unknown += left.unknown() ? 1 : 0;
}

task<void> wait_for(environment& env, latch& l, instant& opened) {
  for (;;) {
    deadline ten(env.now() + minutes(10));
    status open = co_await l.wait(ten);
    if (open)
      break;
  }
  opened = env.now();
}

/// Eight count down from eight while responses are lost: it opens at the last count.
finding run_latch(dialect speaks, std::uint64_t seed) {
  virtual_time::fault_rates rates;
  rates.answer_lost = 100'000;
  rates.request_lost = 50'000;
  rates.latency_max = milliseconds(100);
  virtual_cluster c(speaks, seed, rates);
  latch l(c.client, "l", 8);
  int begun = 0;
  int done = 0;
  int unknown = 0;
  instant opened{};
  std::array<task<void>, 8> tasks;
  for (auto& t : tasks) {
    t = count_once(c.client, l, begun, done, unknown);
    t.start();
  }
  task<void> waits = wait_for(c.client, l, opened);
  waits.start();
  instant last_counted{};
  while (c.time.now() < instant(seconds(1000)) + minutes(10)) {
    c.pass(milliseconds(100));
    if (opened != instant() && c.server.value("l") != "0")
      return "open at " + c.server.value("l").value_or("nothing");
    if (done + unknown == 8 && last_counted == instant()) {
      last_counted = c.time.now();
      c.time.heal();
    }
    if (opened != instant())
      break;
  }
  if (unknown > 0 && speaks == dialect::belay)
    return "a count stayed unknown";
  bool complete = done == 8;
  if (complete && opened == instant())
    return "it never opened";
  // The response may be lost: it retries after the longest wait plus the slack.
  if (complete && opened - last_counted > seconds(70))
    return "it opened late";
  if (opened != instant() && begun < 8)
    return "it opened early";
  return {};
}

/// Nothing is lost: a waiter is notified of the last count at once.
finding run_calm_latch(std::uint64_t seed) {
  virtual_cluster c(dialect::belay, seed);
  latch l(c.client, "l", 8);
  int begun = 0;
  int done = 0;
  int unknown = 0;
  instant opened{};
  std::array<task<void>, 8> tasks;
  for (auto& t : tasks) {
    t = count_once(c.client, l, begun, done, unknown);
    t.start();
  }
  task<void> waits = wait_for(c.client, l, opened);
  waits.start();
  c.pass(seconds(25));
  return done == 8 && opened != instant() ? "" : "it is not open although all have counted";
}

} // namespace

TEST_CASE("a barrier opens when all have arrived, and ends when all have left", "[client]") {
  for (auto speaks : {dialect::belay, dialect::consul}) {
    virtual_cluster c(speaks);
    std::vector<std::unique_ptr<session>> sessions;
    std::vector<std::unique_ptr<barrier>> of;
    for (int i = 0; i < 3; ++i) {
      sessions.push_back(std::make_unique<session>(c.client, session_options()));
      REQUIRE(c.run(sessions.back()->open(c.within(seconds(5)))));
      of.push_back(std::make_unique<barrier>(*sessions.back(), "meet", 3));
    }
    auto first = of[0]->enter(c.within(minutes(5)));
    auto second = of[1]->enter(c.within(minutes(5)));
    first.start();
    second.start();
    c.pass(minutes(2));
    CHECK_FALSE(first.done());
    CHECK_FALSE(second.done());
    auto third = c.run(of[2]->enter(c.within(seconds(5))));
    REQUIRE(third);
    c.pass(seconds(1));
    REQUIRE(first.done());
    REQUIRE(second.done());
    auto one = first.take();
    auto two = second.take();
    REQUIRE(one);
    REQUIRE(two);
    CHECK(one->round() == 1);
    auto leaves = of[0]->leave(std::move(*one), c.within(minutes(5)));
    leaves.start();
    c.pass(seconds(5));
    CHECK_FALSE(leaves.done());
    // The next round waits for the end of this one.
    auto again = of[0]->enter(c.within(minutes(5)));
    again.start();
    // One leaves, and one dies.
    CHECK(c.run(of[1]->leave(std::move(*two), c.within(seconds(1)))).reason() == reason::deadline);
    c.server.destroy(sessions[2]->id());
    c.pass(seconds(1));
    REQUIRE(leaves.done());
    CHECK(leaves.take());
    CHECK_FALSE(again.done());
    CHECK(round_of(c.server).number == 0);
    auto rows = detail::rows_in(c.server.value("meet/.round").value_or(""));
    REQUIRE(rows);
    CHECK(rows->front()[0] == "2");
    CHECK(rows->size() == 2);
  }
}

TEST_CASE("a participant that gives up at a barrier does not count, and another number is rejected", "[client]") {
  virtual_cluster c;
  session s(c.client, session_options());
  session t(c.client, session_options());
  REQUIRE(c.run(s.open(c.within(seconds(5)))));
  REQUIRE(c.run(t.open(c.within(seconds(5)))));
  barrier of_s(s, "meet", 2);
  barrier of_t(t, "meet", 2);
  auto gave_up = c.run(of_s.enter(c.within(seconds(2))));
  CHECK(gave_up.unknown());
  CHECK(gave_up.reason() == reason::deadline);
  c.pass(seconds(5));
  auto alone = of_t.enter(c.within(minutes(1)));
  alone.start();
  c.pass(seconds(5));
  CHECK_FALSE(alone.done());
  barrier three(s, "meet", 3);
  CHECK(c.run(three.enter(c.within(seconds(2)))).reason() == reason::invalid);
  barrier none(s, "meet", 0);
  CHECK(c.run(none.enter(c.within(seconds(2)))).reason() == reason::invalid);
  CHECK(c.run(of_s.enter(c.within(seconds(5)))));
  c.pass(seconds(1));
  REQUIRE(alone.done());
  CHECK(alone.take());
}

TEST_CASE("a latch counts down to zero and stays open", "[client]") {
  virtual_cluster c;
  latch l(c.client, "l", 3);
  auto waits = l.wait(c.within(minutes(5)));
  waits.start();
  CHECK(*c.run(l.count_down(c.within(seconds(5)))) == 2);
  CHECK(c.run(l.wait(c.within(seconds(2)))).reason() == reason::deadline);
  CHECK_FALSE(waits.done());
  CHECK(*c.run(l.count_down(c.within(seconds(5)), 5)) == 0);
  c.pass(seconds(1));
  REQUIRE(waits.done());
  CHECK(waits.take());
  CHECK(*c.run(l.count_down(c.within(seconds(5)))) == 0);
  CHECK(c.run(l.wait(c.within(seconds(2)))));
  c.server.put("l", "many");
  CHECK(c.run(l.count_down(c.within(seconds(5)))).reason() == reason::invalid);
  CHECK(c.run(l.wait(c.within(seconds(5)))).reason() == reason::invalid);
}

TEST_CASE("barriers hold their guarantees under faults", "[client][faults]") {
  for (auto speaks : {dialect::belay, dialect::consul})
    check_seeds(10, [=](std::uint64_t seed) { return run_barrier(speaks, seed); });
}

TEST_CASE("barriers hold their guarantees when requests arrive late, too", "[client][faults]") {
  for (auto speaks : {dialect::belay, dialect::consul})
    check_seeds(10, [=](std::uint64_t seed) { return run_barrier(speaks, seed, late_requests()); });
}

TEST_CASE("latches hold their guarantees under faults", "[client][faults]") {
  for (auto speaks : {dialect::belay, dialect::consul})
    check_seeds(30, [=](std::uint64_t seed) { return run_latch(speaks, seed); });
  check_seeds(10, run_calm_latch);
}

TEST_CASE("known bugs of barriers and latches are found by seeds", "[client][faults]") {
  auto barrier_run = [](std::uint64_t seed) { return run_barrier(dialect::belay, seed); };
  auto latch_run = [](std::uint64_t seed) { return run_latch(dialect::belay, seed); };
  check_that_found({
      {"barrier_opens_early", barrier_run},
      {"barrier_counts_the_dead", barrier_run},
      {"barrier_wakes_late", barrier_run},
      {"barrier_counts_ghosts", [](std::uint64_t seed) { return run_barrier(dialect::belay, seed, late_requests()); }},
      {"barrier_leaves_alone", barrier_run},
      {"latch_opens_early", latch_run},
      {"latch_wakes_late", run_calm_latch},
      {"outcome_ignored", latch_run},
  });
}
