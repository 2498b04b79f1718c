#pragma once
// A command that runs while something is held, and not for a moment longer.
//
// A server ends a session not before its TTL is over after the last renewal; from then on somebody else may get what it held
// (after its lock delay). So the command is asked to end so early that it can be killed before that.

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

/// Whether the node can be asked at all.
api_request is_there(const acquire_deadline& deadline);

/// What the options and words of such a command say; the first word is the name of what is held. @param what "Consul lock"
run_order order_of(const options& o, const std::string& what);

/// Waits for it, runs the command, gives it back. @returns the exit code
int run_while_held(boost::asio::io_context& loop, std::unique_ptr<holding> held, run_order order, terminal t);

} // namespace belay::cli
