#pragma once
// The command line of `belay-sim`: which words it takes, and what they ask for.

#include "protocol/base/result.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace belay::sim {

enum class action : std::uint8_t {
  help,
  list_kinds,
  list_mutants,
  list_profiles,
  one_seed,
  sweep,
  replay,
  shrink,
  regressions
};

struct command_line {
  action what = action::help;
  std::uint64_t first_seed = 0, end_seed = 0; ///< end_seed excluded
  std::string tape_file;                      ///< of replay and shrink; empty: shrink the tape of first_seed
  std::string regressions_folder;

  std::optional<std::string> profile; ///< absent: what the tape says, else "swarm"
  std::optional<std::string> mutant;  ///< absent: what the tape says, else none; empty: none
  std::uint64_t virtual_seconds = 0;  ///< length of the chaos phase; 0: what the tape or the profile says
  std::uint64_t run_seconds = 600;    ///< real time after which one run is given up; 0: never
  std::uint64_t jobs = 0;             ///< worker processes of a sweep; 0: as many as there are processors
  std::uint64_t shrink_runs = 2000;
  std::uint64_t shrink_seconds = 120;

  bool trace = false;
  bool twice = false; ///< every run is compared with its repetition, not only one in 50
  bool until_failure = false;
  bool quiet = false;
  std::string save_file, report_file, required_probes_file;
};

/// What --profile and --mutant may say.
struct known_names {
  std::vector<std::string> profiles, mutants;
  std::vector<std::string> kinds = {}; ///< of operations, for a list
};

/// Flags as Go's flag package reads them: one or two dashes, `-name value` or `-name=value`.
/// @returns a complaint that fits on one line if a word is unknown, or words do not go together.
result<command_line> parse_command_line(const std::vector<std::string>& words, const known_names& names);

std::string usage(const std::string& program);

} // namespace belay::sim
