#pragma once
// The program: finds the command that the words name, and runs it.

#include "cli/terminal.hpp"

namespace belay::cli {

/// @returns the exit code. As Consul: 127 without a command or with an unknown one, 1 where a group is named and no command
/// of it, and for everything that goes wrong; also for output that could not be written.
int run(const arguments& words, terminal t);

} // namespace belay::cli
