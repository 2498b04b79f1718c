#pragma once
// Runs a user's scenario on a simulated cluster: real servers under the faults of the nemesis,
// without belay-sim's clients and checkers. It tests the user's code.

#include "sim/kit/ground.hpp"
#include "sim/run.hpp"

namespace belay::sim {

/// Runs from the first choice of the tape to the outcome; deterministic in tape and scenario.
run_report run_scenario(tape& choices, const run_options& options, const belay_ground::named_scenario& scenario);

} // namespace belay::sim
