#pragma once
// Base64 as in RFC 4648, section 4: standard alphabet, with padding.

#include "protocol/base/result.hpp"

#include <string>
#include <string_view>

namespace belay::go_compat {

void append_base64(std::string& out, std::string_view bytes);
inline std::string base64(std::string_view bytes) {
  std::string out;
  append_base64(out, bytes);
  return out;
}
/// Skips line breaks. The error is `illegal base64 data at input byte 0`.
result<std::string> decode_base64(std::string_view text);

} // namespace belay::go_compat
