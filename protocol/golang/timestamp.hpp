#pragma once
// Times as Go's encoder writes them and its decoder reads them in JSON: RFC 3339, such as 2026-11-20T23:39:32.062313813Z.

#include "protocol/base/result.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace belay::golang {

/// A point of time of the years 0 to 9999, in UTC.
struct timestamp {
  std::chrono::sys_seconds second;
  std::uint32_t nanoseconds = 0; ///< behind the second, below 10^9

  /// Go's time.Time{}, which stands for no time.
  static constexpr timestamp none() {
    using namespace std::chrono;
    return {sys_days{year{1} / January / 1}, 0};
  }
  static timestamp of(std::int64_t ns_since_1970);
  /// Of before 1678 and behind 2262 the nearest that 64 bits can say.
  std::int64_t ns_since_1970() const;
  bool operator==(const timestamp&) const = default;
};

/// As many digits behind the second as it needs, and `Z`.
std::string format_timestamp(const timestamp& t);

/// With `Z` or an offset such as +01:00; digits behind the ninth are cut off. The failure reads
/// `parsing time "abc" as "2006-01-02T15:04:05Z07:00": cannot parse "abc"`.
result<timestamp> parse_timestamp(std::string_view text);

} // namespace belay::golang
