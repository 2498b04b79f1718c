#pragma once
// Standard base64 with padding, as the API carries values.

#include "protocol/base/result.hpp"

#include <string>
#include <string_view>

namespace belay::cli {

std::string to_base64(std::string_view bytes);

/// Line breaks are skipped. The failure is Go's: `illegal base64 data at input byte N`.
result<std::string> from_base64(std::string_view text);

} // namespace belay::cli
