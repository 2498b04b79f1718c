#pragma once
// What a command is called where others see it.

#include <string>
#include <vector>

namespace belay::cli {

/// The name of the program in a command that is a line for the shell, or a program and its arguments. Everybody who may read sessions sees
/// it, so nothing that could be a secret is part of it: no argument, and no value of a variable. `command`: it cannot be told.
std::string name_of_command(const std::vector<std::string>& words);

} // namespace belay::cli
