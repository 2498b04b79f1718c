#pragma once
// The name under which others see a command.

#include <string>
#include <vector>

namespace belay::cli {

/// The name of the program in a command, which is a line for the shell or a program and its
/// arguments. Everyone who may read sessions sees this name, so it contains nothing that could be a
/// secret: no argument, and no value of a variable. It is `command` if the program's name is
/// unclear.
std::string name_of_command(const std::vector<std::string>& words);

} // namespace belay::cli
