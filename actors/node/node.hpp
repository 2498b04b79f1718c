#pragma once
// One running server, from its configuration to its exit code: opens the data directory, puts the node together, waits for signals.

#include "actors/node/config/node_config.hpp"

#include <functional>

namespace belay::actors {

/// Runs until SIGINT or SIGTERM. SIGHUP calls `reload`, which re-reads the sources of the configuration and returns it (or the present one
/// if they cannot be read); what can change while running (log level) is applied.
/// @returns the exit code: 1 after a signal, as Consul's servers do, also if it could not start (the reason is logged).
int run_node(node_config config, std::function<node_config(const node_config&)> reload);

} // namespace belay::actors
