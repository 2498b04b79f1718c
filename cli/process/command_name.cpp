#include "cli/process/command_name.hpp"

#include <algorithm>
#include <string_view>

namespace belay::cli {

namespace {

constexpr std::string_view no_name = "command";

bool is_variable(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

} // namespace

std::string name_of_command(const std::vector<std::string>& words) {
  constexpr std::string_view ends = " \t\n;|&<>()'\"`$";
  std::string_view line = words.empty() ? std::string_view() : std::string_view(words.front());
  for (;;) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\n"), line.size()));
    auto word = line.substr(0, line.find_first_of(ends));
    const auto rest = line.substr(word.size());
    const auto equals = word.find('=');
    const bool sets_variable = equals != std::string_view::npos && is_variable(word.substr(0, equals));
    if (!sets_variable) {
      if (const auto slash = word.rfind('/'); slash != std::string_view::npos)
        word.remove_prefix(slash + 1);
      return word.empty() ? std::string(no_name) : std::string(word);
    }
    // Quoted text, or the output of another command, may be a secret that contains anything.
    if (rest.empty() || word.ends_with('\\') || std::string_view(" \t\n").find(rest.front()) == std::string_view::npos)
      return std::string(no_name);
    line = rest;
  }
}

} // namespace belay::cli
