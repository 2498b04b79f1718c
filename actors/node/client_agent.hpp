#pragma once
// A running client agent (`server = false`) has a gateway, its services and checks, and a relay to
// the servers, which answer all else. It takes no part in elections and stores none of their state.

#include "actors/node/config/node_config.hpp"
#include "actors/node/reloader.hpp"

namespace belay::actors {

/// Runs until SIGINT, SIGTERM or PUT /v1/agent/leave. SIGHUP and PUT /v1/agent/reload read
/// the configuration again. @returns the exit code: 0 if it has left its cluster; 1 after a signal
/// that only stops it. It is also 1 if the agent could not start; the reason is logged.
int run_client_agent(parsed_command_line begun, config_reader read_again);

} // namespace belay::actors
