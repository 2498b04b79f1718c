#pragma once
// Value of the Date header, formatted once a second.

#include <cstdint>
#include <string>
#include <string_view>

namespace belay::actors {

class http_date {
public:
  /// @param second since 1970
  /// @returns in the preferred form of RFC 9110 section 5.6.7; valid until the next call
  std::string_view at(std::int64_t second);

private:
  std::int64_t second_ = -1;
  std::string text_;
};

} // namespace belay::actors
