// One run in a process of its own: its report and its tape are returned even if it dies.

#include "sim/program/isolation.hpp"
#include "tests/sim/fake_run.hpp"

#include <catch2/catch.hpp>

#include <csignal>
#include <unistd.h>

using namespace belay;
using namespace belay::sim;
using namespace belay::sim::testing;

namespace {

isolated_run ran(const run_function& run, std::uint64_t seed = 7) {
  isolation how;
  how.run = run;
  auto out = run_isolated(how, tape(seed));
  REQUIRE(out.ok());
  return *out;
}

std::vector<tape_item> tape_of_harmless_run(std::uint64_t seed) {
  tape t(seed);
  harmless_run(t, {});
  return t.taken();
}

} // namespace

TEST_CASE("isolation: report and tape are those of the run") {
  const auto out = ran(harmless_run);
  tape t(7);
  const auto here = harmless_run(t, {});
  CHECK(out.report.outcome == run_outcome::passed);
  CHECK(out.report.seed == 7);
  CHECK(out.report.trace_hash == here.trace_hash);
  CHECK(out.taken_known);
  CHECK(out.taken == t.taken());
  CHECK(out.taken.size() >= 5);
}

TEST_CASE("isolation: a run that dies still reports its tape") {
  struct row {
    int signal;
    const char* name;
  };
  for (const auto& r : {row{SIGABRT, "SIGABRT"}, row{SIGSEGV, "SIGSEGV"}, row{SIGFPE, "SIGFPE"}}) {
    const auto out = ran([&](tape& t, const run_options& o) {
      harmless_run(t, o);
      std::fputs("last words\n", stderr);
      ::raise(r.signal);
      return run_report{};
    });
    CHECK(out.report.outcome == run_outcome::safety);
    CHECK(out.report.checker == r.name);
    CHECK(out.report.what == "the run's process died: last words");
    CHECK(out.report.seed == 7);
    CHECK(out.taken_known);
    CHECK(out.taken == tape_of_harmless_run(7));
  }
}

TEST_CASE("isolation: a process killed by a signal has no tape") {
  const auto out = ran([](tape& t, const run_options& o) {
    ::raise(SIGKILL);
    return harmless_run(t, o);
  });
  CHECK(out.report.outcome == run_outcome::safety);
  CHECK(out.report.checker == "SIGKILL");
  CHECK_FALSE(out.taken_known);
}

TEST_CASE("isolation: a stack overflow") {
  struct deep {
    static std::uint64_t down(volatile std::uint64_t* above) {
      volatile std::uint64_t here[512] = {};
      here[0] = *above + 1;
      if (here[0] == UINT64_MAX)
        return 0;
      return down(&here[0]) + here[0];
    }
  };
  const auto out = ran([](tape& t, const run_options& o) {
    auto r = harmless_run(t, o);
    volatile std::uint64_t zero = 0;
    r.events = deep::down(&zero);
    return r;
  });
  CHECK(out.report.outcome == run_outcome::safety);
  CHECK_FALSE(out.report.checker.empty());
}

TEST_CASE("isolation: too slow") {
  isolation how;
  how.run = [](tape&, const run_options&) -> run_report {
    for (;;)
      ::pause();
  };
  how.wall_limit = std::chrono::seconds(1);
  auto out = run_isolated(how, tape(7));
  REQUIRE(out.ok());
  CHECK(out->report.outcome == run_outcome::liveness);
  CHECK(out->report.checker == "wall clock");
  CHECK(out->report.what == "not over after 1 seconds of real time");
}

TEST_CASE("isolation: a message larger than a pipe arrives") {
  const auto out = ran([](tape& t, const run_options& o) {
    for (int i = 0; i < 200'000; ++i)
      t.choose(nemesis, 1000);
    return harmless_run(t, o);
  });
  CHECK(out.taken.size() > 190'000);
}

TEST_CASE("isolation: run twice") {
  run_options none;
  tape a(7), b(7), c(7);
  CHECK(run_twice(harmless_run, a, none).outcome == run_outcome::passed);

  int calls = 0;
  const auto moody = [&](tape& t, const run_options& o) {
    auto r = harmless_run(t, o);
    r.events += static_cast<std::uint64_t>(calls++);
    return r;
  };
  const auto differs = run_twice(moody, b, none);
  CHECK(differs.outcome == run_outcome::nondeterminism);
  CHECK(differs.checker == "repetition");
  CHECK(differs.what.find("10 events") != std::string::npos);
  CHECK(differs.what.find("11 events") != std::string::npos);

  // A broken rule is worse than a difference, and is not hidden by it.
  int failing_calls = 0;
  const auto sometimes = [&](tape& t, const run_options& o) {
    auto r = harmless_run(t, o);
    return failing_calls++ == 0 ? broken_run(r, run_outcome::safety, "replies", "bad") : r;
  };
  const auto both = run_twice(sometimes, c, none);
  CHECK(both.outcome == run_outcome::safety);
  CHECK(both.checker == "replies");
  CHECK(both.what.find("not deterministic") != std::string::npos);
}
