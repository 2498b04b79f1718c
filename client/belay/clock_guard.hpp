#pragma once
// Checks this machine's clocks.
//
// Guarantees: each sample compares the clock of sessions with the wall clock. It compares the wall
// clock with the servers' (Date, within half the round trip and a second). Time that goes back, a
// wrong rate, or a large offset is *distrust*: sessions with this guard are not renewed, and end by
// their TTL.
// Survives: a wall clock that is set. Only a large offset is distrusted, until a sample finds less.
// On failure (no server responds): the last result stays; rates are compared without servers.
//
// A client agent responds with its own Date. If it runs on this machine, this compares the machine
// with itself and finds no offset: pass an environment whose servers are servers.

#include <belay/environment.hpp>
#include <belay/task.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace belay {
inline namespace v0 {

enum class clock_trust : std::uint8_t { trusted, noticed, distrusted };

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

  /// Requests a server's time and compares the clocks. @returns how far they are trusted now;
  /// refused if no server responded
  task<result<clock_trust>> sample(deadline limit);
  /// Checks the local clocks only.
  clock_trust look();

  clock_trust trust() const noexcept { return now_.trust; }
  bool trusted() const noexcept { return now_.trust != clock_trust::distrusted; }
  /// How far the wall clock surely is ahead of the servers' (< 0: behind); 0 if it may be right.
  milliseconds offset() const noexcept { return offset_; }
  const std::string& reason() const noexcept { return now_.reason; }

private:
  struct finding {
    clock_trust trust = clock_trust::trusted;
    std::string reason;
  };
  finding of_own_clocks();
  finding of_offset() const;
  clock_trust decide();

  environment& env_;
  clock_guard_options options_;
  std::optional<std::pair<instant, std::chrono::system_clock::time_point>> last_;
  milliseconds offset_{0}; ///< from the last sample that got a response
  finding own_;
  finding now_;
};

} // namespace v0
} // namespace belay
