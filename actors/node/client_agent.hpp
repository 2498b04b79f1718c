#pragma once
// One running client agent (`server = false`): it has a gateway, its services and checks, and a way to the servers, which answer everything
// else. It takes part in no election and keeps none of their state.

#include "actors/node/config/node_config.hpp"
#include "actors/node/reloader.hpp"

namespace belay::actors {

/// Runs until SIGINT, SIGTERM or PUT /v1/agent/leave. With SIGHUP and PUT /v1/agent/reload the configuration is read again.
/// @returns the exit code: 0 if it has left its cluster, 1 after a signal that only stops it, and if it could not start (the reason is
///   logged).
int run_client_agent(parsed_command_line begun, config_reader read_again);

} // namespace belay::actors
