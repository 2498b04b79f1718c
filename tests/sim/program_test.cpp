// The whole program with a simulation that fails on demand: exit codes, files, and outputs.

#include "sim/program/program.hpp"
#include "sim/record/report.hpp"
#include "tests/harness/scratch.hpp"
#include "tests/sim/contains.hpp"
#include "tests/sim/fake_run.hpp"

#include <boost/json/parse.hpp>
#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

using namespace belay;
using namespace belay::sim;
using namespace belay::sim::testing;

namespace {

std::string active_bug;

/// Seeds whose last digit is 1, 2 or 3 break safety, liveness, determinism; 4 dies. A replayed tape
/// breaks safety if the choice at position 3 is not 0 (and the seed ends in 1).
run_report run_on_demand(tape& t, const run_options& o) {
  static std::uint64_t calls = 0;
  auto r = harmless_run(t, o);
  const auto digit = t.seed() % 10;
  const auto items = t.taken();
  const bool has_third = std::any_of(items.begin(), items.end(), [](const auto& i) { return i.position == 3; });
  if (active_bug == "bug" || (digit == 1 && has_third))
    return broken_run(r, run_outcome::safety, "replies", "read an old value");
  if (digit == 2)
    return broken_run(r, run_outcome::liveness, "progress", "no write for 10 s");
  if (digit == 3)
    r.trace_hash += ++calls;
  if (digit == 4)
    std::abort();
  return r;
}

struct printed {
  int code = -1;
  std::string out, err;
};

class folder : public harness::scratch_folder {
public:
  std::string read(const std::string& name) const {
    std::ifstream in(*this / name);
    REQUIRE(in.is_open());
    return {std::istreambuf_iterator<char>(in), {}};
  }

  printed run(const std::string& words) const {
    std::istringstream in(words);
    std::vector<std::string> list;
    for (std::string w; in >> w;)
      list.push_back(w);
    printed o;
    std::ostringstream err;
    {
      std::ofstream out(*this / "stdout");
      o.code = run_program(list, {.name = "belay-sim",
                                  .run = run_on_demand,
                                  .profile_named = [](std::string_view name) -> std::optional<profile> {
                                    if (name != "swarm" && name != "calm")
                                      return std::nullopt;
                                    profile p;
                                    p.name = name;
                                    return p;
                                  },
                                  .names = {{"swarm", "calm"}, {"bug"}},
                                  .activate_mutant =
                                      [](const std::string& name) {
                                        active_bug = name;
                                        return name.empty() || name == "bug";
                                      },
                                  .processors = 2,
                                  .interactive = false,
                                  .stop = nullptr,
                                  .out = out,
                                  .err = err});
    }
    active_bug.clear();
    o.out = read("stdout");
    o.err = err.str();
    return o;
  }
};

saved_tape saved(const folder& f, const std::string& name) {
  auto t = parse_tape(f.read(name));
  REQUIRE(t.ok());
  return *t;
}

} // namespace

TEST_CASE("program: exit codes") {
  struct row {
    const char* words;
    int code;
  };
  const row rows[] = {
      {"--help", 0},
      {"--list-mutants", 0},
      {"--seed 10", 0},
      {"--seed 11", 1},
      {"--seed 12", 2},
      {"--seed 13", 0}, // only a second run shows it
      {"--seed 13 --twice", 3},
      {"--seed 14", 1},
      {"--seed 10 --mutant bug", 1},
      {"--seeds 15..21", 0},
      {"--seeds 12..13", 2},
      {"--seeds 12..14 --twice", 3},
      {"--seeds 11..14 --twice", 1},
      {"--seeds 14..15", 1},
      {"", 64},
      {"--seed", 64},
      {"--seed 1 --profile swarmy", 64},
      {"--replay nosuch.tape", 74},
      {"--shrink nosuch.tape", 74},
      {"--regressions nosuch", 74},
      {"--seeds 15..16 --require-probes nosuch", 74},
      {"--seed 10 --save nosuch/file", 74},
      {"--seed 10 --report nosuch/file", 74},
      {"--shrink --seed 10", 64},
  };
  const folder f;
  for (const auto& r : rows) {
    INFO(r.words);
    const auto o = f.run(r.words);
    INFO(o.err);
    CHECK(o.code == r.code);
  }
}

TEST_CASE("program: the trace is alone on stdout") {
  const folder f;
  const auto o = f.run("--seed 11 --trace");
  CHECK(o.code == 1);
  std::istringstream lines(o.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    CHECK(line.starts_with("event "));
  CHECK(count == 10);
  CHECK(o.err == "seed 11: safety: replies: read an old value\n  belay-sim --seed 11 --profile swarm --trace\n");

  // A run that crashes prints its trace, too.
  const auto dead = f.run("--seed 14 --trace");
  CHECK(contains(dead.out, "event 9 "));
  CHECK(contains(dead.err, "seed 14: safety: SIGABRT: "));
  // Without --trace there is no output.
  CHECK(f.run("--seed 11").out.empty());
}

TEST_CASE("program: wrong words are named, then the usage") {
  const auto o = folder().run("--sed 1");
  CHECK(o.err.starts_with("flag provided but not defined: -sed\nUsage: belay-sim "));
  CHECK(o.out.empty());
}

TEST_CASE("program: lists") {
  const folder f;
  CHECK(f.run("--list-mutants").out == "bug\n");
  CHECK(f.run("--list-profiles").out == "swarm\ncalm\n");
}

TEST_CASE("program: a sweep reports failures with their command, and writes figures") {
  const folder f;
  const auto o = f.run("--seeds 15..25 --profile calm --virtual-seconds 9 --jobs 2 --report " + f / "r.json");
  CHECK(o.code == 1);
  const std::string command = "  belay-sim --seed 22 --profile calm --virtual-seconds 9 --trace\n";
  CHECK(contains(o.out, "10 runs in "));
  CHECK(contains(o.out, command));
  CHECK(contains(o.err, command));
  CHECK_FALSE(contains(o.err, "\r"));
  const auto report = boost::json::parse(f.read("r.json"));
  CHECK(report.at("runs") == 10);
  CHECK(report.at("profile") == "calm");
  CHECK(report.at("verdicts").at("safety") == 2); // 21 and 24
  CHECK(report.at("failures").as_array().size() == 3);
  CHECK(report.at("virtual_hours").as_double() == Approx(9 * 9 / 3600.0).margin(0.001)); // the dead one has none
  CHECK(report.at("command").as_string().starts_with("belay-sim --seeds 15..25"));

  CHECK(f.run("--seeds 15..20 --quiet").out.empty());
}

TEST_CASE("program: a required probe that is never reached fails the sweep") {
  const folder f;
  f.write("required.txt", "# none of them is there\nprogram test: no such probe\n");
  const auto o = f.run("--seeds 15..20 --require-probes " + f / "required.txt");
  CHECK(o.code == 1);
  CHECK(contains(o.out, "never reached: program test: no such probe\n"));
  f.write("required.txt", "# nothing\n");
  CHECK(f.run("--seeds 15..20 --require-probes " + f / "required.txt").code == 0);
}

TEST_CASE("program: a saved tape makes the same run again") {
  const folder f;
  CHECK(f.run("--seed 11 --virtual-seconds 7 --profile calm --save " + f / "a.tape").code == 1);
  const auto t = saved(f, "a.tape");
  CHECK(t.seed == 11);
  CHECK(t.profile == "calm");
  CHECK(t.chaos_seconds == 7);
  CHECK(t.expect == "safety");
  CHECK(t.story == "replies: read an old value\n");
  CHECK(t.items.size() >= 5);
  const auto traced = f.run("--seed 11 --virtual-seconds 7 --profile calm --trace");
  const auto again = f.run("--replay " + f / "a.tape" + " --trace");
  CHECK(again.code == 1);
  CHECK(again.out == traced.out);
  CHECK(contains(again.err, "  belay-sim --replay " + f / "a.tape" + " --trace\nthe tape expects: safety\n"));

  // The tape of a run that died.
  CHECK(f.run("--seed 14 --save " + f / "dead.tape").code == 1);
  CHECK(saved(f, "dead.tape").items.size() >= 5);
  // The tape's mutant is on unless the command line says otherwise.
  CHECK(f.run("--seed 10 --mutant bug --save " + f / "bug.tape").code == 1);
  CHECK(f.run("--replay " + f / "bug.tape").code == 1);
  CHECK(f.run("--replay " + f / "bug.tape --mutant none").code == 0);
}

TEST_CASE("program: shrinking writes a smaller tape with its story") {
  const folder f;
  f.run("--seed 11 --save " + f / "a.tape");
  const auto before = saved(f, "a.tape").items.size();
  const auto o = f.run("--shrink " + f / "a.tape");
  INFO(o.err);
  CHECK(o.code == 1);
  const auto small = saved(f, "a.tape.min");
  CHECK(small.items == std::vector<tape_item>{{nemesis, 3, 1}});
  CHECK(small.expect == "safety");
  CHECK(contains(small.story, "shrunk from " + std::to_string(before) + " to 1 choices in "));
  CHECK(contains(small.story, "safety: replies: read an old value\n"));
  CHECK(f.run("--replay " + f / "a.tape.min").code == 1);

  CHECK(f.run("--shrink --seed 11 --save " + f / "b.tape").code == 1);
  CHECK(saved(f, "b.tape").items == small.items);
  // The crash needs no choice at all.
  CHECK(f.run("--shrink --seed 14 --save " + f / "c.tape").code == 1);
  CHECK(saved(f, "c.tape").items.empty());
}

TEST_CASE("program: regressions are compared with their expectations") {
  const folder f;
  std::filesystem::create_directory(f / "kept");
  CHECK(f.run("--regressions " + f / "kept").code == 0);
  f.run("--seed 10 --save " + f / "kept/passes.tape");
  f.run("--seed 11 --save " + f / "kept/fails.tape");
  f.write("kept/README.md", "not a tape");
  const auto good = f.run("--regressions " + f / "kept");
  CHECK(good.code == 0);
  CHECK(good.err ==
        "ok      " + f / "kept/fails.tape" + "\nok      " + f / "kept/passes.tape" + "\n2 as expected, 0 not\n");

  // A mutant that is no longer found.
  auto t = saved(f, "kept/passes.tape");
  t.expect = "safety";
  f.write("kept/passes.tape", to_text(t));
  const auto bad = f.run("--regressions " + f / "kept");
  CHECK(bad.code == 1);
  CHECK(contains(bad.err, "FAILED  " + f / "kept/passes.tape" + ": expected safety, seed 10: passed"));
  CHECK(contains(bad.err, "1 as expected, 1 not\n"));

  f.write("kept/passes.tape", "rubbish");
  CHECK(f.run("--regressions " + f / "kept").code == 74);
}
