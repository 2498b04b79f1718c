#pragma once
// Reading base64; append_base64 in render.hpp writes it.

#include "protocol/base/result.hpp"

#include <string>
#include <string_view>

namespace belay::http {

/// Standard alphabet with padding; line breaks are skipped. The failure reads `illegal base64 data at input byte 0`.
result<std::string> decode_base64(std::string_view text);

} // namespace belay::http
