#pragma once
// Checks this machine's clocks.
//
// Guarantees: each sample compares the clock of sessions with the wall clock. It compares the wall
// clock with the servers' (Date, within half the round trip and a second). Time that goes back, a
// wrong rate, or a large offset is *distrust*: sessions with this guard are not renewed, and end by
// their TTL.
// Survives: a wall clock that is set: only a large offset is distrusted, until a sample finds less.
// On failure (no server responds): the last verdict stays; rates are compared without servers.

#include <belay/environment.hpp>
#include <belay/task.hpp>

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
  /// A larger offset to servers is worth a log line. Date has whole seconds: less cannot be seen.
  milliseconds notice_offset{1000};
  /// A larger offset means that the clocks are not trusted.
  milliseconds distrust_offset{60000};
  /// How much the wall clock may deviate from the clock of sessions between two samples: parts per
  /// million of the time between them, plus 50 ms.
  std::uint64_t rate_ppm = 5000;
  /// Reads the wall clock.
  std::function<std::chrono::system_clock::time_point()> wall = [] { return std::chrono::system_clock::now(); };
};

class clock_guard {
public:
  explicit clock_guard(environment& env, clock_guard_options options = clock_guard_options());

  /// Requests a server's time and compares the clocks. @returns the new verdict; refused if no
  /// server responded
  task<result<clock_verdict>> sample(deadline limit);
  /// Checks the local clocks only.
  clock_verdict look();

  clock_verdict verdict() const noexcept { return now_.verdict; }
  bool trusted() const noexcept { return now_.verdict != clock_verdict::distrusted; }
  /// How far the wall clock surely is ahead of the servers' (< 0: behind); 0 if it may be right.
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

  environment& env_;
  clock_guard_options options_;
  std::optional<std::pair<instant, std::chrono::system_clock::time_point>> last_;
  milliseconds offset_{0}; ///< from the last sample that got a response
  judgement own_;
  judgement now_;
};

} // namespace v0
} // namespace belay
