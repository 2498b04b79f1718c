#pragma once
// Runs a user's scenario on a simulated cluster: the real servers under the faults of the nemesis, without the clients and the
// checkers of belay-sim. What is judged is the user's code.

#include "sim/kit/ground.hpp"
#include "sim/run.hpp"

namespace belay::sim {

/// From the first choice of the tape to the verdict; deterministic in the tape and the scenario.
run_report run_scenario(tape& choices, const run_options& options, const belay_ground::named_scenario& scenario);

} // namespace belay::sim
