// What belay-sim accepts, and how it rejects the rest.

#include "sim/program/command_line.hpp"

#include <catch2/catch.hpp>

#include <sstream>

using namespace belay;
using namespace belay::sim;

namespace {

const known_names names = {{"calm", "swarm"}, {"commit_any_term"}};

result<command_line> parsed(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string w; in >> w;)
    words.push_back(w);
  return parse_command_line(words, names);
}

command_line good(const std::string& text) {
  INFO(text);
  auto line = parsed(text);
  INFO((line ? "" : line.error()));
  REQUIRE(line.ok());
  return *line;
}

} // namespace

TEST_CASE("command line: the action") {
  struct row {
    const char* words;
    action what;
    std::uint64_t first, end;
    const char* file;
  };
  const row rows[] = {
      // words                             what                 first  end   file
      {"--seed 42", action::one_seed, 42, 43, ""},
      {"-seed=42", action::one_seed, 42, 43, ""},
      {"--seeds 0..2000", action::sweep, 0, 2000, ""},
      {"--seeds=7..8", action::sweep, 7, 8, ""},
      {"--replay a.tape", action::replay, 0, 0, "a.tape"},
      {"--shrink a.tape", action::shrink, 0, 0, "a.tape"},
      {"--shrink=a.tape", action::shrink, 0, 0, "a.tape"},
      {"--shrink --seed 5", action::shrink, 5, 6, ""},
      {"--seed 5 --shrink", action::shrink, 5, 6, ""},
      {"--list-mutants", action::list_mutants, 0, 0, ""},
      {"--list-profiles", action::list_profiles, 0, 0, ""},
      {"--list-kinds", action::list_kinds, 0, 0, ""},
      {"--help", action::help, 0, 0, ""},
      {"-h", action::help, 0, 0, ""},
      {"--seeds 0..1 --replay x --help", action::help, 0, 0, ""}, // --help always prints help
  };
  for (const auto& r : rows) {
    const auto line = good(r.words);
    INFO(r.words);
    CHECK(line.what == r.what);
    CHECK(line.first_seed == r.first);
    CHECK(line.end_seed == r.end);
    CHECK(line.tape_file == r.file);
  }
  CHECK(good("--regressions tests/regressions").regressions_folder == "tests/regressions");
}

TEST_CASE("command line: options and their defaults") {
  const auto plain = good("--seeds 0..10");
  CHECK_FALSE(plain.profile.has_value());
  CHECK_FALSE(plain.mutant.has_value());
  CHECK(plain.jobs == 0);
  CHECK(plain.run_seconds == 600);
  CHECK(plain.virtual_seconds == 0);
  CHECK_FALSE(plain.until_failure);

  const auto full = good("--seeds 0..10 --jobs 3 --profile calm --mutant commit_any_term --virtual-seconds 90 --twice "
                         "--report r.json --until-failure --require-probes p.txt --run-seconds 0 --quiet");
  CHECK(full.jobs == 3);
  CHECK(full.profile == "calm");
  CHECK(full.mutant == "commit_any_term");
  CHECK(full.virtual_seconds == 90);
  CHECK(full.twice);
  CHECK(full.report_file == "r.json");
  CHECK(full.until_failure);
  CHECK(full.required_probes_file == "p.txt");
  CHECK(full.run_seconds == 0);
  CHECK(full.quiet);

  CHECK(good("--replay a --mutant none").mutant == "");
  const auto one = good("--seed 1 --trace --save out.tape");
  CHECK(one.trace);
  CHECK(one.save_file == "out.tape");
  const auto small = good("--shrink a --shrink-runs 5 --shrink-seconds 6");
  CHECK(small.shrink_runs == 5);
  CHECK(small.shrink_seconds == 6);
  CHECK(good("--shrink a").shrink_runs == 2000);
  CHECK(good("--shrink a").shrink_seconds == 120);
}

TEST_CASE("command line: refused") {
  struct row {
    const char *words, *complaint;
  };
  const row rows[] = {
      {"", "nothing to do: give -seed, -seeds, -replay, -shrink or -regressions"},
      {"--quiet", "nothing to do: give -seed, -seeds, -replay, -shrink or -regressions"},
      {"42", "unexpected word: 42"},
      {"--seed 42 43", "unexpected word: 43"},
      {"---seed 42", "bad flag syntax: ---seed"},
      {"--", "bad flag syntax: --"},
      {"--seeed 42", "flag provided but not defined: -seeed"},
      {"--seed", "flag needs an argument: -seed"},
      {"--seed=", "flag needs an argument: -seed"},
      {"--shrink=", "flag needs an argument: -shrink"},
      {"--seed x", "invalid value \"x\" for flag -seed: not a number from 0 to 2^64-1"},
      {"--seed -1", "invalid value \"-1\" for flag -seed: not a number from 0 to 2^64-1"},
      {"--seed 18446744073709551616",
       "invalid value \"18446744073709551616\" for flag -seed: not a number from 0 to 2^64-1"},
      {"--seed 1 --seed 2", "flag given twice: -seed"},
      {"--seed 1 --trace=yes", "invalid value \"yes\" for flag -trace: it takes none"},
      {"--seeds 5", "invalid value \"5\" for flag -seeds: not of the form A..B"},
      {"--seeds 5..", "invalid value \"5..\" for flag -seeds: not of the form A..B"},
      {"--seeds 5...9", "invalid value \"5...9\" for flag -seeds: not of the form A..B"},
      {"--seeds 5..5", "invalid value \"5..5\" for flag -seeds: there is no seed in it: B is excluded"},
      {"--seeds 9..5", "invalid value \"9..5\" for flag -seeds: there is no seed in it: B is excluded"},
      {"--seed 1 --seeds 1..2", "-seed does not go with -seeds"},
      {"--seeds 1..2 --trace", "-trace does not go with -seeds"},
      {"--seeds 1..2 --save x", "-save does not go with -seeds"},
      {"--seed 1 --jobs 2", "-jobs does not go with -seed"},
      {"--replay x --seed 1", "-seed does not go with -replay"},
      {"--list-mutants --quiet", "-quiet does not go with -list-mutants"},
      {"--shrink", "-shrink needs a file or -seed, one of them"},
      {"--shrink x --seed 1", "-shrink needs a file or -seed, one of them"},
      {"--seeds 1..2 --jobs 0", "invalid value \"0\" for flag -jobs: must be at least 1"},
      {"--seeds 1..2 --jobs 1001", "invalid value \"1001\" for flag -jobs: must be at most 1000"},
      {"--seed 1 --virtual-seconds 0", "invalid value \"0\" for flag -virtual-seconds: must be at least 1"},
      {"--seed 1 --profile calmer", "invalid value \"calmer\" for flag -profile: there is calm, swarm"},
      {"--seed 1 --mutant x", "invalid value \"x\" for flag -mutant: there is commit_any_term"},
  };
  for (const auto& r : rows) {
    INFO(r.words);
    const auto line = parsed(r.words);
    REQUIRE_FALSE(line.ok());
    CHECK(line.error() == r.complaint);
  }
}

TEST_CASE("command line: the usage names every flag and every exit code") {
  const auto text = usage("build/sim/belay-sim");
  for (const auto* word : {"Usage: build/sim/belay-sim ",
                           "--seed N",
                           "--seeds A..B",
                           "--jobs",
                           "--replay",
                           "--shrink",
                           "--profile",
                           "--trace",
                           "--mutant",
                           "--save",
                           "--report",
                           "--regressions",
                           "--until-failure",
                           "--list-mutants",
                           "--list-profiles",
                           "--virtual-seconds",
                           "--quiet",
                           "--help",
                           "--require-probes",
                           "0 passed",
                           "1 safety",
                           "2 liveness",
                           "3 not deterministic",
                           "64 wrong usage"}) {
    INFO(word);
    CHECK(text.find(word) != text.npos);
  }
}
