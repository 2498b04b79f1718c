#pragma once
// How the model server parses and writes the texts of the HTTP API.

#include <belay/environment.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace belay::client_tests {

inline std::uint64_t number(const std::string& text) {
  return text.empty() ? 0 : std::stoull(text);
}

/// Parses texts like 1500ms, 15s.
inline milliseconds duration(const std::string& text) {
  if (text.empty())
    return milliseconds(0);
  auto n = static_cast<std::int64_t>(std::stoll(text));
  return text.find("ms") != text.npos ? milliseconds(n) : milliseconds(n * 1000);
}

inline std::string base64(std::string_view text) {
  static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    unsigned n = 0;
    for (std::size_t j = 0; j < 3; ++j)
      n = n << 8 | (i + j < text.size() ? static_cast<unsigned char>(text[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j)
      out += j <= text.size() - i ? digits[n >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

inline bool starts_with(const std::string& text, std::string_view start) {
  return text.compare(0, start.size(), start) == 0;
}

} // namespace belay::client_tests
