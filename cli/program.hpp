#pragma once
// The program: finds the command that the words name, and runs it.

#include "cli/terminal.hpp"

namespace belay::cli {

/// @returns the exit code. As in Consul: 127 without a command or for an unknown one; 1 for a group
/// without one of its commands, and for every failure. It is 1 also if the output could not be
/// written.
int run(const arguments& words, terminal t);

} // namespace belay::cli
