#pragma once
// Times in Go's JSON: RFC 3339, such as 2026-11-20T23:39:32.062313813Z.

#include "protocol/base/result.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace belay::go_compat {

/// A point in time in the years 0 to 9999, UTC.
struct timestamp {
  std::chrono::sys_seconds second;
  std::uint32_t nanoseconds = 0; ///< after the second, below 10^9

  /// Go's time.Time{}, which means no time.
  static constexpr timestamp none() {
    using namespace std::chrono;
    return {sys_days{year{1} / January / 1}, 0};
  }
  static timestamp of(std::int64_t ns_since_1970);
  /// Before 1678 and after 2262: the nearest value that fits 64 bits.
  std::int64_t ns_since_1970() const;
  bool operator==(const timestamp&) const = default;
};

/// Writes as many digits after the second as needed, and `Z`.
std::string format_timestamp(const timestamp& t);

/// Accepts `Z` or an offset such as +01:00; truncates after nine digits. The error
/// is `parsing time "abc" as "2006-01-02T15:04:05Z07:00": cannot parse "abc"`.
result<timestamp> parse_timestamp(std::string_view text);

} // namespace belay::go_compat
