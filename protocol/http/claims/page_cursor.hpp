#pragma once
// Cursor of the next page of a listing, as clients send it: any bytes, in hexadecimal digits.

#include "protocol/base/hex.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace belay::http {

inline std::string page_cursor(std::string_view bytes) {
  std::string out;
  for (const char c : bytes)
    append_hex(out, static_cast<unsigned char>(c), 2);
  return out;
}

/// @returns nullopt: not a text of page_cursor()
inline std::optional<std::string> read_page_cursor(std::string_view text) {
  if (text.empty() || text.size() % 2 != 0)
    return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_value(text[i]);
    const int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0)
      return std::nullopt;
    out += static_cast<char>(high * 16 + low);
  }
  return out;
}

} // namespace belay::http
