#pragma once
// One running server, from its configuration to its exit code: opens the data directory, puts the node together, waits for signals.

#include "actors/node/config/node_config.hpp"
#include "actors/node/reloader.hpp"

namespace belay::actors {

/// Runs until SIGINT or SIGTERM. With SIGHUP and PUT /v1/agent/reload the configuration is read again (reloader.hpp).
/// @returns the exit code: 1 after a signal, as Consul's servers do, also if it could not start (the reason is logged).
int run_node(parsed_command_line begun, config_reader read_again);

} // namespace belay::actors
