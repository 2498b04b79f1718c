#pragma once
// Shell scripts that complete commands, options and their values, made from the tables of commands.

#include "cli/flags/command.hpp"

#include <string>
#include <vector>

namespace belay::cli {

/// A script for bash (`source <(belay completion bash)`).
std::string bash_completion(const std::vector<command>& commands);
/// A script for zsh, to be saved as `_belay` in a folder of fpath.
std::string zsh_completion(const std::vector<command>& commands);
/// A script for fish, to be saved as `belay.fish` in ~/.config/fish/completions.
std::string fish_completion(const std::vector<command>& commands);

/// The man page belay(1), in roff.
std::string manual(const std::vector<command>& commands, std::string_view version);

} // namespace belay::cli
