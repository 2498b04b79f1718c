#pragma once
// Runs many seeds on several processes, and gathers their figures and failures.

#include "sim/program/isolation.hpp"

namespace belay::sim {

struct sweep_options {
  std::uint64_t first_seed = 0, end_seed = 0; ///< end_seed excluded
  std::size_t jobs = 1;
  sim::profile profile;
  std::uint64_t repeat_every = 50;      ///< seeds that are multiples of it are run twice and compared
  std::chrono::seconds wall_limit{600}; ///< of one run; 0: none
  /// No seed above the lowest failing one is begun any more; those below it are finished, so that the lowest failure
  /// does not depend on the number of jobs.
  bool until_failure = false;

  std::function<void(const run_report&)> on_report; ///< after each run; null: nobody listens
  std::function<void(const figures&)> on_tick;      ///< a few times a second; null: nobody listens
  std::function<bool()> stop;                       ///< true: break off now; null: never
};

/// @pre jobs > 0; this process has no threads that matter (workers are forked, also later, when one dies).
/// A worker that dies costs only the seed it was running: a safety failure, see isolation.hpp.
/// @returns a failure if there can be no worker at all.
result<figures> sweep(const run_function& run, const sweep_options& options);

} // namespace belay::sim
