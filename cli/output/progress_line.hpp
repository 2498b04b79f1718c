#pragma once
// Shows on a screen how far a command is.

#include <chrono>
#include <iosfwd>
#include <string>

namespace belay::cli {

/// On a screen, one line that is overwritten at most once a second; elsewhere nothing.
class progress_line {
public:
  /// @param screen whether `out` is a screen
  progress_line(std::ostream& out, bool screen) : out_(out), screen_(screen) {}
  ~progress_line() { end(); }
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  void show(const std::string& text);
  /// Ends the line, so that the next output begins on a new one.
  void end();

private:
  using clock = std::chrono::steady_clock;

  std::ostream& out_;
  bool screen_;
  clock::time_point next_ = clock::now() + std::chrono::seconds(1); ///< short runs show none
  std::size_t width_ = 0;
};

} // namespace belay::cli
