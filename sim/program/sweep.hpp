#pragma once
// Runs many seeds on several processes, and collects their figures and failures.

#include "sim/program/isolation.hpp"

namespace belay::sim {

struct sweep_options {
  std::uint64_t first_seed = 0, end_seed = 0; ///< end_seed excluded
  std::size_t jobs = 1;
  sim::profile profile;
  std::uint64_t repeat_every = 50;      ///< seeds that are multiples of it are run twice and compared
  std::chrono::seconds wall_limit{600}; ///< limit of one run; 0: none
  /// Begins no seed above the lowest failing one, but finishes those below it, so that the lowest
  /// failure does not depend on the number of jobs.
  bool until_failure = false;

  std::function<void(const run_report&)> on_report; ///< after each run; null: no callback
  std::function<void(const figures&)> on_tick;      ///< a few times a second; null: no callback
  std::function<bool()> stop;                       ///< true: stop now; null: never
};

/// @pre jobs > 0; this process has no threads that matter (it forks workers, even when one dies).
/// A worker that dies loses only its current seed: a safety failure, see isolation.hpp.
/// @returns an error if no worker can be started.
result<figures> sweep(const run_function& run, const sweep_options& options);

} // namespace belay::sim
