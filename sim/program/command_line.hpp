#pragma once
// The command line of `belay-sim`: its words and their meaning.

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
  std::string tape_file;                      ///< input of replay and shrink; empty: shrink the tape of first_seed
  std::string regressions_folder;

  std::optional<std::string> profile; ///< absent: from the tape, else "swarm"
  std::optional<std::string> mutant;  ///< absent: from the tape, else none; empty: none
  std::uint64_t virtual_seconds = 0;  ///< length of the chaos phase; 0: from the tape or the profile
  std::uint64_t run_seconds = 600;    ///< limit of one run in real time; 0: none
  std::uint64_t jobs = 0;             ///< worker processes of a sweep; 0: as many as there are processors
  std::uint64_t shrink_runs = 2000;
  std::uint64_t shrink_seconds = 120;

  bool trace = false;
  bool twice = false; ///< compares every run with its repetition, not only one in 50
  bool until_failure = false;
  bool quiet = false;
  std::string save_file, report_file, required_probes_file;
};

/// The valid values of --profile and --mutant.
struct known_names {
  std::vector<std::string> profiles, mutants;
  std::vector<std::string> kinds = {}; ///< kinds of operations, for a list
};

/// Parses flags like Go's flag package: one or two dashes, `-name value` or `-name=value`.
/// @returns a one-line error if a word is unknown, or words cannot be combined.
result<command_line> parse_command_line(const std::vector<std::string>& words, const known_names& names);

std::string usage(const std::string& program);

} // namespace belay::sim
