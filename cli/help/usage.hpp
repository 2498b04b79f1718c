#pragma once
// Help, made from the tables of commands.

#include "cli/flags/command.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace belay::cli {

/// `Usage: belay kv get [options] [KEY_OR_PREFIX]` and a line break.
std::string usage_line(const command& c);
/// All about one command: what it does, examples, and a line for each flag.
std::string usage(const command& c);
/// The commands of a group; empty: all of them.
std::string usage(const std::vector<command>& commands, std::string_view group);

/// `-token=<secret>`, as help shows it.
std::string shown(const flag& f);

/// A flag that every command with this `reach` has, rather than `c` itself.
bool is_shared(const command& c, const flag& f);

} // namespace belay::cli
