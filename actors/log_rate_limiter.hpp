#pragma once
// Limits log lines that unverified peers can cause: equal lines to one a minute, all to 5 a second.

#include "actors/messages.hpp"

#include <map>
#include <string>

namespace belay::actors {

class log_rate_limiter {
public:
  /// Whether the line may be written now.
  /// @param what peer and reason; equal values count as one
  bool may_write(const std::string& what, monotonic_time now) {
    if (now - second_began_ >= std::chrono::seconds(1)) {
      second_began_ = now;
      written_in_second_ = 0;
    }
    if (written_.size() >= remembered_max) // many distinct lines: only the limit per second applies then
      written_.clear();
    const auto known = written_.find(what);
    if (written_in_second_ >= lines_per_second || (known != written_.end() && now - known->second < again_after)) {
      ++suppressed_;
      return false;
    }
    written_[what] = now;
    ++written_in_second_;
    return true;
  }
  /// Number of lines suppressed since the last call.
  std::uint64_t take_suppressed() { return std::exchange(suppressed_, 0); }

private:
  static constexpr std::size_t remembered_max = 1000;
  static constexpr int lines_per_second = 5;
  static constexpr std::chrono::seconds again_after{60};

  std::map<std::string, monotonic_time> written_;
  monotonic_time second_began_{};
  int written_in_second_ = 0;
  std::uint64_t suppressed_ = 0;
};

} // namespace belay::actors
