// The command line of a user's scenarios: belay-sim's, with --scenario instead of --profile.

#include "sim/kit/cluster_stage.hpp"
#include "sim/program/process_setup.hpp"
#include "sim/program/program.hpp"

#include <algorithm>
#include <iostream>
#include <thread>
#include <unistd.h>

namespace belay_ground {

namespace {

using words = std::vector<std::string>;

/// The name of a flag, without dashes and value; empty: it is not a flag.
std::string flag_in(const std::string& word) {
  const auto begin = word.find_first_not_of('-');
  if (begin == word.npos || begin == 0 || begin > 2)
    return {};
  return word.substr(begin, word.find('=') - begin);
}

bool has(const words& all, std::string_view flag) {
  return std::any_of(all.begin(), all.end(), [&](const std::string& w) { return flag_in(w) == flag; });
}

/// The value of a flag, after `=` or as the next word; empty: there is none.
std::string value_of(const words& all, std::string_view flag) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (flag_in(all[i]) != flag)
      continue;
    if (const auto equal = all[i].find('='); equal != std::string::npos)
      return all[i].substr(equal + 1);
    return i + 1 < all.size() && flag_in(all[i + 1]).empty() ? all[i + 1] : std::string();
  }
  return {};
}

std::string usage(const std::string& program, const std::vector<named_scenario>& all) {
  auto text = "Usage: " + program +
              " --seed N [--trace] | --seeds A..B | --shrink --seed N | --shrink FILE | --replay FILE [--trace]\n\n"
              "  Runs scenarios in virtual time, with faults, and checks what must be true.\n\n"
              "  --seed N         one run; --trace tells its story, --save FILE keeps its tape\n"
              "  --seeds A..B     a sweep over the seeds from A to B-1, on all processors (--jobs N); --until-failure\n"
              "                   stops at the first that fails, --report FILE.json has the figures\n"
              "  --shrink         makes a failing run as small as it gets, and tells its story; the tape goes to\n"
              "                   seed-N.tape.min, or FILE.min, or where --save says. --shrink-runs N and\n"
              "                   --shrink-seconds N bound how long it tries (2000 runs, 120 s)\n"
              "  --replay FILE    the run of a saved tape\n"
              "  --regressions DIR  replays every *.tape of a folder and compares with what it expects\n"
              "  --scenario NAME  another one than the first:\n";
  for (const auto& each : all)
    text += "                     " + each.name + "\n";
  return text +
         "\nExit code: 0 passed; 1 a rule was broken; 2 an expected event is missing; 3 not deterministic; 64 wrong\n"
         "usage; 74 a file cannot be read or written; 130 interrupted.\n";
}

/// Translates arguments of this program to those of belay-sim.
words translated(words all, const std::string& first_scenario) {
  for (auto& w : all)
    if (flag_in(w) == "scenario")
      w = "--profile" + w.substr(w.find("scenario") + 8);
  // A tape names its scenario.
  const bool of_tape = has(all, "replay") || has(all, "regressions") || (has(all, "shrink") && !has(all, "seed"));
  if (!of_tape && !has(all, "profile"))
    all.push_back("--profile=" + first_scenario);
  return all;
}

} // namespace

int run_program(int argc, char** argv, const std::vector<named_scenario>& all) {
  std::ios::sync_with_stdio(false);
  if (all.empty()) {
    std::cerr << "there is no scenario: BELAY_SCENARIO\n";
    return 64;
  }
  words given(argv + 1, argv + argc);
  if (given.empty() || has(given, "help") || has(given, "h")) {
    std::cout << usage(argv[0], all) << std::flush;
    return given.empty() ? 64 : 0;
  }
  belay::sim::set_up_process();

  const auto named = [&all](std::string_view name) {
    return std::find_if(all.begin(), all.end(), [name](const named_scenario& s) { return s.name == name; });
  };
  belay::sim::program_parts parts{.name = argv[0],
                                  .run =
                                      [&](belay::sim::tape& choices, const belay::sim::run_options& o) {
                                        return belay::sim::run_scenario(choices, o, *named(o.profile.name));
                                      },
                                  .profile_named = [&](std::string_view name) -> std::optional<belay::sim::profile> {
                                    if (named(name) == all.end())
                                      return std::nullopt;
                                    belay::sim::profile p;
                                    p.name = name;
                                    return p;
                                  },
                                  .names = {},
                                  .activate_mutant = [](const std::string& name) { return name.empty(); },
                                  .processors = std::thread::hardware_concurrency(),
                                  .interactive = ::isatty(2) == 1,
                                  .stop = belay::sim::interrupted,
                                  .out = std::cout,
                                  .err = std::cerr,
                                  .profile_flag = "scenario",
                                  .usage = usage(argv[0], all)};
  for (const auto& each : all)
    parts.names.profiles.push_back(each.name);
  const auto line = translated(given, all.front().name);
  const auto code = belay::sim::run_program(line, parts);
  if (!has(given, "shrink") || has(given, "quiet") || code == 0 || code > 3)
    return code;
  // The smallest run that fails, as a trace.
  auto file = value_of(given, "save");
  if (file.empty() && !value_of(given, "shrink").empty())
    file = value_of(given, "shrink") + ".min";
  if (file.empty())
    file = "seed-" + value_of(given, "seed") + ".tape.min";
  std::cout << '\n' << std::flush;
  return belay::sim::run_program({"--replay", file, "--trace", "--quiet"}, parts);
}

} // namespace belay_ground
