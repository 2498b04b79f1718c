#pragma once
// How far a command is, for somebody who looks on.

#include <chrono>
#include <iosfwd>
#include <string>

namespace belay::cli {

/// On a screen one line that is written over, at most once a second; elsewhere nothing.
class progress_line {
public:
  /// @param screen `out` is one
  progress_line(std::ostream& out, bool screen) : out_(out), screen_(screen) {}
  ~progress_line() { end(); }
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  void show(const std::string& text);
  /// The next output begins on a line of its own.
  void end();

private:
  using clock = std::chrono::steady_clock;

  std::ostream& out_;
  bool screen_;
  clock::time_point next_ = clock::now() + std::chrono::seconds(1); ///< what is done at once needs no line
  std::size_t width_ = 0;
};

} // namespace belay::cli
