#pragma once
// The input and output of a command.

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace belay::cli {

struct terminal {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool screen = false; ///< whether `out` is a screen, where lines may be overwritten
  /// The path by which the program was called. Called as `consul`, it prints a version of Consul.
  std::string_view called = "belay";
};
using arguments = std::vector<std::string>;

/// Prints an error as a line.
/// @returns the exit code of a command that failed
int error(terminal t, const std::string& text);

} // namespace belay::cli
