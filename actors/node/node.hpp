#pragma once
// One running server: opens the data directory, assembles the node, waits for signals.

#include "actors/node/config/node_config.hpp"
#include "actors/node/reloader.hpp"

namespace belay::actors {

/// Runs until SIGINT or SIGTERM. SIGHUP and PUT /v1/agent/reload reload it (reloader.hpp).
/// @returns the exit code: 1 after a signal, as in Consul, or if it could not start (it logs why).
int run_node(parsed_command_line begun, config_reader read_again);

} // namespace belay::actors
