#pragma once
// An error in the TLS settings, for callers that know where the setting was written.

#include <string>
#include <string_view>
#include <vector>

namespace belay::tls {

struct setting_complaint {
  std::string_view key; ///< configuration key that has the error
  std::string text;     ///< Consul's text where it has one
  /// Keys that would make it valid if they were set; empty: the value itself is invalid.
  std::vector<std::string_view> missing = {};
};

} // namespace belay::tls
