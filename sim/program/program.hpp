#pragma once
// Carries out the command line of `belay-sim`: one run, a replay, a sweep, shrinking, the
// regressions. The simulation is passed as a function, so that tests can replace it.

#include "sim/program/command_line.hpp"
#include "sim/run.hpp"

#include <iosfwd>

namespace belay::sim {

struct program_parts {
  std::string name; ///< argv[0]: commands that replay a failure begin with it
  run_function run;
  std::function<std::optional<profile>(std::string_view)> profile_named;
  known_names names;
  std::function<bool(const std::string&)> activate_mutant; ///< as belay::activate_mutant
  std::size_t processors = 1;
  bool interactive = false;   ///< progress may be drawn on `err`
  std::function<bool()> stop; ///< true: the user has requested the end of a sweep; null: never
  std::ostream& out;          ///< shared with child processes: a file or a pipe
  std::ostream& err;
  std::string profile_flag = "profile"; ///< its name in commands that replay a failure
  std::string usage = {};               ///< text for --help and usage errors; empty: that of belay-sim
};

/// @param words what follows the program's name
/// @returns the exit code, see exit_code in sim/record/report.hpp.
int run_program(const std::vector<std::string>& words, const program_parts& parts);

} // namespace belay::sim
