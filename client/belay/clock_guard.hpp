#pragma once
// Watches this machine's clocks.
//
// Promise: each sample compares the clock of sessions with the wall clock, and the wall clock with the servers' (the Date of
// an answer, within half its round trip and the second that it is rounded to). Time that goes back, a rate that is off, or an
// offset beyond the bounds is *distrust*: sessions that have this guard are not renewed then, and end by their TTL.
// Survives: a wall clock that is set: the offset is reported, and only a large one is distrusted, until a sample finds a smaller one.
// When it cannot (no server answers): the last judgement stands; rates are compared without servers.

#include <belay/task.hpp>
#include <belay/world.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace belay {
inline namespace v0 {

enum class clock_verdict : std::uint8_t { trusted, noticed, distrusted };

class clock_guard_options {
public:
  clock_guard_options() = default;
  /// Beyond it the offset to servers is worth a line in a log. Dates have whole seconds: less cannot be seen.
  milliseconds notice_offset{1000};
  /// Beyond it the clocks are not trusted.
  milliseconds distrust_offset{60000};
  /// How far the wall clock may run from the clock of sessions between two samples, in parts per million of the time
  /// between them, beside 50 ms.
  std::uint64_t rate_ppm = 5000;
  /// The wall clock.
  std::function<std::chrono::system_clock::time_point()> wall = [] { return std::chrono::system_clock::now(); };
};

class clock_guard {
public:
  explicit clock_guard(world& w, clock_guard_options options = clock_guard_options());

  /// Asks a server what time it is. @returns the verdict afterwards; refused if none answered
  task<result<clock_verdict>> sample(patience limit);
  /// Looks at the own clocks only.
  clock_verdict look();

  clock_verdict verdict() const noexcept { return now_.verdict; }
  bool trusted() const noexcept { return now_.verdict != clock_verdict::distrusted; }
  /// How far the wall clock is ahead of the servers', as far as that is certain: zero if it may be right.
  milliseconds offset() const noexcept { return offset_; }
  const std::string& because() const noexcept { return now_.because; }

private:
  struct judgement {
    clock_verdict verdict = clock_verdict::trusted;
    std::string because;
  };
  judgement of_own_clocks();
  judgement of_offset() const;
  clock_verdict decide();

  world& world_;
  clock_guard_options options_;
  std::optional<std::pair<instant, std::chrono::system_clock::time_point>> last_;
  milliseconds offset_{0}; ///< of the last sample that was answered
  judgement own_;
  judgement now_;
};

} // namespace v0
} // namespace belay
