// Leaderships under faults: one process leads at a time, and observers see which.
#include "tests/unit/client/crew.hpp"

#include <belay/election.hpp>

using namespace belay;
using namespace belay::client_tests;

namespace {

struct election_kit {
  explicit election_kit(session& s) : contest(s, "o") {}
  election contest;
};
using election_crew = crew<election_kit>;

/// Leads for some seconds, transfers or releases it, and writes while its lease is safe.
task<void> lead(election_crew::member& m, std::size_t number, stage& seen) {
  std::string name = std::to_string(m.number) + "." + std::to_string(number);
  for (;;) {
    bool have = co_await have_session(m.env, *m.s);
    if (!have)
      continue;
    deadline minute(m.env.now() + minutes(1));
    result<lease> leadership = co_await m.kit->contest.campaign(name, minute);
    if (!leadership) {
      auto later = m.env.now() + seconds(1);
      co_await sleep_until(m.env, later);
      continue;
    }
    ++m.progress[number];
    stage::shown here(
        seen, m.env, *m.s, [&leadership] { return leadership->safe_until(); }, name);
    auto term = m.env.now() + seconds(1 + m.env.random(4));
    co_await sleep_until(m.env, term);
    deadline two(m.env.now() + seconds(2));
    if (m.env.random(4) == 0)
      co_await leadership->release(two);
    else
      co_await m.kit->contest.transfer(*leadership, two);
    auto later = m.env.now() + seconds(3);
    co_await sleep_until(m.env, later);
  }
}

finding run_election(dialect speaks, std::uint64_t seed) {
  virtual_cluster c(speaks, seed, all_faults());
  stage seen;
  election_crew all(c, 3, 1, [&](election_crew::member& m, std::size_t n) { return lead(m, n, seen); });
  return all.run([&]() -> finding { return seen.names().size() > 1 ? "two have the leadership" : ""; });
}

task<void> observe(environment& env, election_observer& o, std::string& last) {
  for (;;) {
    deadline long_time(env.now() + hours(1));
    result<std::optional<leader>> now = co_await o.next(long_time);
    if (now)
      last = *now ? (*now)->value : std::string();
  }
}

/// One leadership changes hands; an observer notices soon, without sending requests all the time.
finding run_observed(dialect speaks, std::uint64_t seed) {
  virtual_time::fault_rates rates;
  rates.latency_max = milliseconds(300);
  virtual_cluster c(speaks, seed, rates);
  virtual_time::process watcher(c.time, c.server);
  election_observer o(watcher, "o", speaks == dialect::belay);
  std::string last = "nothing yet";
  auto watching = observe(watcher, o, last);
  watching.start();
  auto& chance = c.time.chance();
  for (int term = 0; term < 10; ++term) {
    session s(c.client, session_options());
    if (!c.run(s.open(c.within(minutes(1)))))
      return "not opened";
    election contest(s, "o");
    auto name = "leader " + std::to_string(term);
    auto held = c.run(contest.campaign(name, c.within(minutes(1))));
    if (!held)
      return "not elected";
    c.pass(seconds(5 + chance.draw(20)));
    if (last != name)
      return "the leader is not seen: " + last;
    if (!c.run(held->release(c.within(seconds(10)))))
      return "not resigned";
    c.pass(seconds(5 + chance.draw(20)));
    if (!last.empty())
      return "nobody leads, and somebody is seen: " + last;
    if (!c.run(s.close(c.within(seconds(10)))))
      return "not closed";
  }
  auto request_count = c.server.requests(speaks == dialect::belay ? "GET /v1/claim/" : "GET /v1/kv/");
  return request_count <= 60 ? "" : "it asks all the time: " + std::to_string(request_count);
}

} // namespace

TEST_CASE("elections hold their guarantees under faults", "[client][faults]") {
  for (auto speaks : {dialect::belay, dialect::consul})
    check_seeds(30, [=](std::uint64_t seed) { return run_election(speaks, seed); });
}

TEST_CASE("observers see the leader", "[client][faults]") {
  for (auto speaks : {dialect::belay, dialect::consul})
    check_seeds(20, [=](std::uint64_t seed) { return run_observed(speaks, seed); });
}

TEST_CASE("known bugs of elections are found by seeds", "[client][faults]") {
  auto leadership = [](std::uint64_t seed) { return run_election(dialect::belay, seed); };
  auto observed = [](std::uint64_t seed) { return run_observed(dialect::belay, seed); };
  check_that_found({{"office_safe_while_passed_on", leadership},
                    {"leadership_kept_after_transfer", leadership},
                    {"office_kept_when_unknown", leadership},
                    {"observer_looks_past_change", observed}});
}
