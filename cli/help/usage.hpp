#pragma once
// Help texts, made from the tables of commands.

#include "cli/flags/command.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace belay::cli {

/// `Usage: belay kv get [options] [KEY_OR_PREFIX]`, with a line break.
std::string usage_line(const command& c);
/// The help of one command: what it does, examples, and a line for each flag.
std::string usage(const command& c);
/// The help of a group of commands; empty: of all commands.
std::string usage(const std::vector<command>& commands, std::string_view group);

/// `-token=<secret>`, as help shows it.
std::string shown(const flag& f);

/// Whether every command with this `reach` has the flag, rather than only `c`.
bool is_shared(const command& c, const flag& f);

} // namespace belay::cli
