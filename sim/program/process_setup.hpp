#pragma once
// Initializes a process that runs simulations.

namespace belay::sim {

/// Loads what OpenSSL would load on first use, so that the processes of the runs share it. From now
/// on SIGINT is recorded, and a second one kills; writes to a closed pipe fail without a signal.
void set_up_process();

/// Whether SIGINT was received.
bool interrupted();

} // namespace belay::sim
