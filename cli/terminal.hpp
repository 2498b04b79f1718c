#pragma once
// What a command reads and writes.

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace belay::cli {

struct terminal {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool screen = false; ///< `out` is one: lines may be written over
  /// The path by which the program was called. As `consul` it says that it is one, to whoever asks for its version
  std::string_view called = "belay";
};
using arguments = std::vector<std::string>;

/// Writes a complaint as a line. @returns the exit code of a command that failed
int error(terminal t, const std::string& text);

} // namespace belay::cli
