// Many seeds in several processes: nothing is lost, whatever the runs do to their process.

#include "protocol/base/probe.hpp"
#include "sim/program/sweep.hpp"
#include "tests/sim/fake_run.hpp"

#include <catch2/catch.hpp>

#include <csignal>
#include <set>
#include <unistd.h>

using namespace belay;
using namespace belay::sim;
using namespace belay::sim::testing;

namespace {

sweep_options of_seeds(std::uint64_t first, std::uint64_t end, std::size_t jobs) {
  sweep_options o;
  o.first_seed = first;
  o.end_seed = end;
  o.jobs = jobs;
  return o;
}

figures swept(const run_function& run, const sweep_options& o) {
  auto f = sweep(run, o);
  REQUIRE(f.ok());
  return *f;
}

std::vector<std::uint64_t> failing_seeds(const figures& f) {
  std::vector<std::uint64_t> out;
  for (const auto& r : f.failures)
    out.push_back(r.seed);
  return out;
}

} // namespace

TEST_CASE("sweep: every seed is run once, whatever the number of jobs") {
  for (const std::size_t jobs : {1u, 2u, 7u}) {
    auto o = of_seeds(5, 305, jobs);
    std::multiset<std::uint64_t> seen;
    o.on_report = [&](const run_report& r) { seen.insert(r.seed); };
    const auto f = swept(harmless_run, o);
    CHECK(f.runs == 300);
    CHECK(f.of(run_outcome::passed) == 300);
    CHECK(f.events == 3000);
    CHECK(f.done == 900);
    CHECK(f.faults.at("crash") == 600);
    CHECK(f.virtual_seconds.count() == Approx(300 * 45));
    CHECK(f.failures.empty());
    CHECK_FALSE(f.interrupted);
    CHECK(seen.size() == 300);
    CHECK(std::set<std::uint64_t>(seen.begin(), seen.end()).size() == 300);
  }
}

TEST_CASE("sweep: failures are listed by seed with their texts") {
  const auto run = [](tape& t, const run_options& o) {
    auto r = harmless_run(t, o);
    if (t.seed() % 40 == 7)
      return broken_run(r, run_outcome::safety, "replies", "seed " + std::to_string(t.seed()) + " \xff");
    return t.seed() == 33 ? broken_run(r, run_outcome::liveness, "progress", "none") : r;
  };
  const auto f = swept(run, of_seeds(0, 100, 3));
  CHECK(f.runs == 100);
  CHECK(failing_seeds(f) == std::vector<std::uint64_t>{7, 33, 47, 87});
  CHECK(f.failures[0].checker == "replies");
  CHECK(f.failures[0].what == "seed 7 \xff");
  CHECK(f.failures[1].outcome == run_outcome::liveness);
  CHECK(exit_code_of(f) == exit_safety);
}

TEST_CASE("sweep: a run that kills its process costs its own seed only") {
  const auto run = [](tape& t, const run_options& o) {
    switch (t.seed()) {
    case 3:
      std::fputs("the facts\n", stderr);
      std::abort();
    case 4:
      ::raise(SIGSEGV);
      break;
    case 17:
      ::_exit(9);
    case 29:
      throw std::runtime_error("thrown");
    default:
      break;
    }
    return harmless_run(t, o);
  };
  for (const std::size_t jobs : {1u, 3u}) {
    const auto f = swept(run, of_seeds(0, 60, jobs));
    CHECK(f.runs == 60);
    CHECK(f.of(run_outcome::safety) == 4);
    REQUIRE(failing_seeds(f) == std::vector<std::uint64_t>{3, 4, 17, 29});
    CHECK(f.failures[0].checker == "SIGABRT");
    CHECK(f.failures[0].what == "the run's process died: the facts");
    CHECK(f.failures[1].checker == "SIGSEGV");
    CHECK(f.failures[2].checker == "exit");
    CHECK(f.failures[2].what == "the run's process ended with code 9");
    CHECK(f.failures[3].checker == "exception");
    CHECK(f.failures[3].what == "thrown");
  }
}

TEST_CASE("sweep: when every run dies, the sweep still ends") {
  const auto f = swept([](tape&, const run_options&) -> run_report { std::abort(); }, of_seeds(0, 20, 2));
  CHECK(f.runs == 20);
  CHECK(f.of(run_outcome::safety) == 20);
}

TEST_CASE("sweep: a run that never ends is a liveness failure") {
  // Alone: on a busy machine a harmless run could take longer than this limit, too.
  auto o = of_seeds(6, 7, 2);
  o.wall_limit = std::chrono::seconds(1);
  const auto f = swept(
      [](tape&, const run_options&) -> run_report {
        for (;;)
          ::pause();
      },
      o);
  CHECK(f.runs == 1);
  REQUIRE(failing_seeds(f) == std::vector<std::uint64_t>{6});
  CHECK(f.failures[0].outcome == run_outcome::liveness);
  CHECK(f.failures[0].checker == "wall clock");
}

TEST_CASE("sweep: one seed in fifty is repeated, and a run that differs then is found") {
  const auto moody = [calls = 0](tape& t, const run_options& o) mutable {
    auto r = harmless_run(t, o);
    r.trace_hash += static_cast<std::uint64_t>(++calls);
    return r;
  };
  auto o = of_seeds(10, 160, 2);
  auto f = swept(moody, o);
  CHECK(f.runs == 150);
  CHECK(failing_seeds(f) == std::vector<std::uint64_t>{50, 100, 150});
  CHECK(f.failures[0].outcome == run_outcome::nondeterminism);
  CHECK(f.failures[0].checker == "repetition");
  CHECK(exit_code_of(f) == exit_nondeterminism);
  o.repeat_every = 1;
  CHECK(swept(moody, o).failures.size() == 150);
}

TEST_CASE("sweep: the repetition plays the tape that was taken, it does not draw again") {
  // Every second call makes more choices: those that were not drawn the first time must be 0 now.
  const auto run = [calls = 0](tape& t, const run_options& o) mutable {
    auto r = harmless_run(t, o);
    if (++calls % 2 == 0)
      for (int i = 0; i < 20; ++i)
        r.trace_hash += t.choose({stream_kind::clock, 3}, 1000);
    return r;
  };
  auto o = of_seeds(0, 30, 1);
  o.repeat_every = 1;
  CHECK(swept(run, o).failures.empty());
}

TEST_CASE("sweep: until the first failure") {
  const auto run = [](tape& t, const run_options& o) {
    auto r = harmless_run(t, o);
    return t.seed() >= 30 ? broken_run(r, run_outcome::safety, "replies", "bad") : r;
  };
  for (const std::size_t jobs : {1u, 4u}) {
    auto o = of_seeds(0, 1'000'000, jobs);
    o.until_failure = true;
    const auto f = swept(run, o);
    REQUIRE_FALSE(f.failures.empty());
    CHECK(f.failures[0].seed == 30); // the lowest, not the first that came
    CHECK(f.of(run_outcome::passed) == 30);
    CHECK(f.runs < 100);
  }
}

TEST_CASE("sweep: interrupted by the user") {
  auto o = of_seeds(0, UINT64_MAX, 2);
  std::uint64_t received = 0;
  o.on_report = [&](const run_report&) { ++received; };
  o.stop = [&] { return received >= 20; };
  const auto f = swept(harmless_run, o);
  CHECK(f.interrupted);
  CHECK(f.runs >= 20);
  CHECK(exit_code_of(f) == exit_interrupted);
}

#ifdef BELAY_SIMULATION_HOOKS
TEST_CASE("sweep: probes reached in workers are added up, and do not count here") {
  const auto run = [](tape& t, const run_options& o) {
    if (t.seed() % 10 == 1)
      PROBE("sweep test: a seed that ends in 1");
    PROBE("sweep test: any seed");
    return harmless_run(t, o);
  };
  const auto f = swept(run, of_seeds(1, 41, 3));
  CHECK(f.probes.at("sweep test: any seed") == 40);
  CHECK(f.probes.at("sweep test: a seed that ends in 1") == 4);
  CHECK_FALSE(probe_counts().contains("sweep test: any seed"));
}
#endif
