#pragma once
// What is wrong with the settings of TLS, for those who know where a setting was written.

#include <string>
#include <string_view>
#include <vector>

namespace belay::tls {

struct setting_complaint {
  std::string_view key; ///< of the configuration, that is to blame
  std::string text;     ///< in Consul's words where it has some
  /// Keys that would make it right if they were there; empty: the value itself can never be right.
  std::vector<std::string_view> missing = {};
};

} // namespace belay::tls
