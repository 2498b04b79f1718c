// Figures of many runs: added up, printed, written as JSON, converted to an exit code.

#include "sim/record/report.hpp"
#include "tests/sim/contains.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::sim;
using namespace belay::sim::testing;

namespace {

run_report passed_run(std::uint64_t seed, int heal_ms, int gap_ms) {
  run_report r;
  r.seed = seed;
  r.trace_hash = UINT64_MAX - seed;
  r.events = 1000;
  r.duration = std::chrono::seconds(60);
  r.choices = 20;
  r.operations = 10;
  r.done = 7;
  r.refused = 2;
  r.unknown = 1;
  r.elections = 3;
  r.heal_to_convergence = std::chrono::milliseconds(heal_ms);
  r.last_fault_to_convergence = std::chrono::milliseconds(heal_ms / 2);
  r.longest_write_gap = std::chrono::milliseconds(gap_ms);
  r.wrongly_released_locks = 1;
  r.faults = {{"crash", 2}};
  return r;
}

run_report failed_run(std::uint64_t seed, run_outcome v) {
  run_report r;
  r.seed = seed;
  r.outcome = v;
  r.checker = "replies";
  r.what = "read an old value";
  r.faults = {{"crash", 1}, {"partition", 4}};
  return r;
}

const recipe how = {"build/sim/belay-sim", "swarm", "", 0, ""};

} // namespace

TEST_CASE("report: percentiles by nearest rank, buckets of 50 ms") {
  spread s;
  CHECK(s.percentile(50) == 0);
  CHECK(s.buckets().empty());
  for (int i = 1; i <= 200; ++i)
    s.add(std::chrono::milliseconds(i));
  CHECK(s.size() == 200);
  CHECK(s.percentile(50) == 100);
  CHECK(s.percentile(99) == 198);
  CHECK(s.percentile(100) == 200);
  CHECK(s.percentile(1) == 2);
  CHECK(s.buckets() == histogram_50ms{{0, 49}, {1, 50}, {2, 50}, {3, 50}, {4, 1}});

  spread one;
  one.add(std::chrono::milliseconds(75));
  CHECK(one.percentile(1) == 75);
  CHECK(one.percentile(100) == 75);
}

TEST_CASE("report: runs are added up; failures are sorted and do not count for the gaps") {
  figures f;
  f.add(failed_run(9, run_outcome::liveness));
  f.add(passed_run(1, 120, 900));
  f.add(failed_run(4, run_outcome::safety));
  f.add(passed_run(2, 130, 500));
  f.add_probes({{"a", 2}});
  f.add_probes({{"a", 3}, {"b", 1}});
  CHECK(f.runs == 4);
  CHECK(f.of(run_outcome::passed) == 2);
  CHECK(f.of(run_outcome::safety) == 1);
  CHECK(f.of(run_outcome::liveness) == 1);
  CHECK(f.of(run_outcome::nondeterminism) == 0);
  CHECK(f.virtual_seconds.count() == Approx(120));
  CHECK(f.events == 2000);
  CHECK(f.choices == 40);
  CHECK(f.operations == 20);
  CHECK(f.done == 14);
  CHECK(f.refused == 4);
  CHECK(f.unknown == 2);
  CHECK(f.elections == 6);
  CHECK(f.wrongly_released_locks == 2);
  CHECK(f.faults == std::map<std::string, std::uint64_t>{{"crash", 6}, {"partition", 8}});
  CHECK(f.probes == std::map<std::string, std::uint64_t>{{"a", 5}, {"b", 1}});
  CHECK(f.heal_to_convergence.size() == 2);
  CHECK(f.longest_write_gap.percentile(100) == 900);
  REQUIRE(f.failures.size() == 2);
  CHECK(f.failures[0].seed == 4);
  CHECK(f.failures[1].seed == 9);
}

TEST_CASE("report: exit codes, the worst first") {
  struct row {
    std::vector<run_outcome> runs;
    bool probe_missing, interrupted;
    int code;
  };
  using enum run_outcome;
  const row rows[] = {
      {{}, false, false, 0},
      {{passed, passed}, false, false, 0},
      {{passed, liveness}, false, false, 2},
      {{nondeterminism, liveness}, false, false, 3},
      {{nondeterminism, liveness, safety}, false, false, 1},
      {{passed}, true, false, 1},
      {{nondeterminism}, true, false, 1},
      {{passed}, false, true, 130},
      {{liveness}, false, true, 2},
  };
  for (const auto& r : rows) {
    figures f;
    for (std::size_t i = 0; i < r.runs.size(); ++i)
      f.add(r.runs[i] == passed ? passed_run(i, 1, 1) : failed_run(i, r.runs[i]));
    if (r.probe_missing)
      f.missing_probes = {"never"};
    f.interrupted = r.interrupted;
    CHECK(exit_code_of(f) == r.code);
  }
}

TEST_CASE("report: the command that makes a run again") {
  CHECK(how.command(failed_run(42, run_outcome::safety)) == "build/sim/belay-sim --seed 42 --profile swarm --trace");
  const recipe full = {"my sims/belay-sim", "calm", "commit_any_term", 90, ""};
  CHECK(full.command(failed_run(42, run_outcome::nondeterminism)) ==
        "'my sims/belay-sim' --seed 42 --profile calm --mutant commit_any_term --virtual-seconds 90 --twice --trace");
  const recipe file = {"belay-sim", "", "", 0, "it's.tape"};
  CHECK(file.command(failed_run(42, run_outcome::safety)) == "belay-sim --replay 'it'\\''s.tape' --trace");
}

TEST_CASE("report: required probes") {
  const auto required =
      parse_required_probes("# rare paths\n\nvote refused\r\n  \nsnapshot installed  \nvote refused\n");
  CHECK(required == std::set<std::string>{"vote refused", "snapshot installed"});
  CHECK(missing(required, {{"vote refused", 1}, {"other", 1}}) == std::set<std::string>{"snapshot installed"});
  CHECK(missing(required, {{"vote refused", 0}}) == required);
  CHECK(missing({}, {}).empty());
}

TEST_CASE("report: rendered for humans") {
  figures f;
  f.add(passed_run(1, 120, 900));
  f.add(failed_run(42, run_outcome::safety));
  f.wall = std::chrono::seconds(2);
  f.missing_probes = {"vote refused"};
  const auto text = described(f, how);
  INFO(text);
  CHECK(contains(text, "2 runs in 2.0 s: 1 passed, 1 safety\n"));
  CHECK(contains(text, "0.02 h, 30 times as fast as real"));
  CHECK(contains(text, "1000, 500 per second; 60 seeds per minute"));
  CHECK(contains(text, "10: 7 done, 2 refused, 1 unknown"));
  CHECK(contains(text, "crash 3, partition 4"));
  CHECK(contains(text,
                 "heal to convergence    median 120 ms, p95 120 ms, p99 120 ms, max 120 ms\n     100 ms        1 ###"));
  CHECK(contains(text, "never reached: vote refused\n"));
  CHECK(contains(text, "seed 42: safety: replies: read an old value\n"
                       "  build/sim/belay-sim --seed 42 --profile swarm --trace\n"));
  CHECK(contains(text, "without faults that last: median 60 ms, p95 60 ms, p99 60 ms, max 60 ms\n"));
  CHECK_FALSE(contains(text, "converged late"));
  for (const auto seed : {5, 6}) {
    auto slow = passed_run(static_cast<std::uint64_t>(seed), 600 + seed, 900);
    slow.waited_ms = {{"votes", 500}, {"entries", 100 + seed}};
    f.add(slow);
  }
  CHECK(contains(described(f, how), "converged late         2 (above 487 ms), most of it for: votes 2\n"
                                    "  seed 6: 606 ms (entries 106, votes 500)\n"
                                    "  seed 5: 605 ms (entries 105, votes 500)\n"));
  f = {};
  f.add(passed_run(1, 120, 900));
  f.add(failed_run(42, run_outcome::safety));
  CHECK(progress_line(f, 200, std::chrono::seconds(2)) == "2/200  1 failed  60 seeds/min  ETA 3:18");
  CHECK(progress_line({}, 200, std::chrono::seconds(2)) == "0/200  0 failed  0 seeds/min");
}

TEST_CASE("report: as JSON") {
  figures f;
  auto slow = passed_run(1, 900, 900);
  slow.waited_ms = {{"votes", 500}, {"entries", 400}};
  f.add(slow);
  f.add(passed_run(2, 20, 100));
  f.add(failed_run(42, run_outcome::liveness));
  f.wall = std::chrono::seconds(3);
  f.probes = {{"b", 1}, {"a", 2}};
  f.missing_probes = {"c"};
  const auto text = pretty(to_json(f, how, "belay-sim --seeds 0..3"));
  INFO(text);
  const auto v = boost::json::parse(text);
  const auto& o = v.as_object();
  std::string keys;
  for (const auto& m : o)
    keys += std::string(m.key()) + " ";
  CHECK(keys == "format command profile mutant interrupted runs verdicts wall_seconds virtual_hours events choices "
                "events_per_second seeds_per_minute operations elections wrongly_released_locks "
                "heal_to_convergence_ms last_fault_to_convergence_ms longest_write_gap_ms faults probes missing_probes "
                "failures ");
  CHECK(boost::json::serialize(o.at("verdicts")) == R"({"passed":2,"safety":0,"liveness":1,"nondeterminism":0})");
  CHECK(boost::json::serialize(o.at("heal_to_convergence_ms")) ==
        R"({"median":20,"p95":900,"p99":900,"max":900,"buckets":{"0":1,"900":1},)"
        R"("slow":[{"seed":1,"ms":900,"waited_ms":{"entries":400,"votes":500}}]})");
  CHECK(boost::json::serialize(o.at("last_fault_to_convergence_ms")) ==
        R"({"median":10,"p95":450,"p99":450,"max":450})");
  CHECK(boost::json::serialize(o.at("probes")) == R"({"a":2,"b":1})");
  CHECK(boost::json::serialize(o.at("missing_probes")) == R"(["c"])");
  CHECK(o.at("wall_seconds").as_double() == 3);
  CHECK(o.at("seeds_per_minute").as_double() == 60);
  const auto& failed = o.at("failures").at(0).as_object();
  CHECK(failed.at("seed") == 42);
  CHECK(failed.at("verdict") == "liveness");
  CHECK(failed.at("trace_hash") == "0000000000000000");
  CHECK(failed.at("replay") == "build/sim/belay-sim --seed 42 --profile swarm --trace");
  CHECK(contains(text, "  \"runs\": 3,\n"));
  CHECK(text.ends_with("}\n"));
}

TEST_CASE("report: a run's report reaches another process complete") {
  auto r = passed_run(UINT64_MAX, 120, 900);
  r.waited_ms = {{"votes", 100}, {"entries", 20}};
  r.outcome = run_outcome::nondeterminism;
  r.checker = "a";
  r.what = "line\nbreak, \"quotes\"";
  auto back = report_from_json(boost::json::parse(boost::json::serialize(to_json(r))));
  REQUIRE(back.ok());
  CHECK(back->seed == r.seed);
  CHECK(back->outcome == r.outcome);
  CHECK(back->checker == r.checker);
  CHECK(back->what == r.what);
  CHECK(back->trace_hash == r.trace_hash);
  CHECK(back->events == r.events);
  CHECK(back->duration == r.duration);
  CHECK(back->choices == r.choices);
  CHECK(back->operations == r.operations);
  CHECK(back->done == r.done);
  CHECK(back->refused == r.refused);
  CHECK(back->unknown == r.unknown);
  CHECK(back->elections == r.elections);
  CHECK(back->heal_to_convergence == r.heal_to_convergence);
  CHECK(back->last_fault_to_convergence == r.last_fault_to_convergence);
  CHECK(back->longest_write_gap == r.longest_write_gap);
  CHECK(back->wrongly_released_locks == r.wrongly_released_locks);
  CHECK(back->faults == r.faults);
  CHECK(back->waited_ms == r.waited_ms);

  const auto all = to_json(r);
  for (const auto& member : all) {
    auto less = all;
    less.erase(member.key());
    INFO(std::string(member.key()));
    CHECK_FALSE(report_from_json(less).ok());
  }
  CHECK_FALSE(report_from_json(boost::json::parse("[]")).ok());
}
