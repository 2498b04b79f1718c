#pragma once
// The program: finds the command that the words name, and runs it.

#include "cli/terminal.hpp"

namespace belay::cli {

/// @returns the exit code. As in Consul: 127 if the command is missing or unknown; 1 for a group of
/// commands alone, and for every failure, including output that could not be written.
int run(const arguments& words, terminal t);

} // namespace belay::cli
