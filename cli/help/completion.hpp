#pragma once
// Scripts that complete commands, options and their values in a shell, made from the tables of commands.

#include "cli/flags/command.hpp"

#include <string>
#include <vector>

namespace belay::cli {

/// To be read by bash (`source <(belay completion bash)`).
std::string bash_completion(const std::vector<command>& commands);
/// To be put as `_belay` into a folder of zsh's fpath.
std::string zsh_completion(const std::vector<command>& commands);
/// To be put as `belay.fish` into ~/.config/fish/completions.
std::string fish_completion(const std::vector<command>& commands);

/// The man page belay(1), in roff.
std::string manual(const std::vector<command>& commands, std::string_view version);

} // namespace belay::cli
