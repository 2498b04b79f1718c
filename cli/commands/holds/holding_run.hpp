#pragma once
// Runs a command while something is held, and not for a moment longer.
//
// A server ends a session no earlier than one TTL after the last renewal. After that (and after its
// lock delay) another client may acquire what it held. The command therefore gets SIGTERM early
// enough to be killed before that.

#include "cli/flags/options.hpp"
#include "cli/locks/holding.hpp"

#include <boost/asio/io_context.hpp>

#include <memory>
#include <string>
#include <vector>

namespace belay::cli {

struct run_order {
  std::string session_name;
  std::vector<std::string> words; ///< the command
  bool shell = true, pass_stdin = false, verbose = false, child_exit_code = false;
};

/// A request that checks that the node responds at all.
api_request is_there(const acquire_deadline& deadline);

/// Reads the options and words of such a command; the first word names what is held.
/// @param what first words of the session's name, such as "Consul lock"
run_order order_of(const options& o, const std::string& what);

/// Acquires it, runs the command, and releases it.
/// @returns the exit code
int run_while_held(boost::asio::io_context& loop, std::unique_ptr<holding> held, run_order order, terminal t);

} // namespace belay::cli
