#pragma once
// What a process that runs simulations does first.

namespace belay::sim {

/// Loads what OpenSSL looks for when it is wanted first, so that the processes of the runs have it. SIGINT is noted from then on, and a second
/// one kills; writing to who has gone is an error, and no signal.
void set_up_process();

/// SIGINT has come.
bool interrupted();

} // namespace belay::sim
