#include "cli/base64.hpp"

#include <cstdint>

namespace belay::cli {

namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

} // namespace

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const auto n = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (j < n ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j)
      out += j <= n ? alphabet[group >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

result<std::string> from_base64(std::string_view text) {
  const auto illegal = [](std::size_t at) {
    return failure{"illegal base64 data at input byte " + std::to_string(at)};
  };
  std::string out;
  std::uint32_t group = 0;
  int have = 0, padding = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n' || c == '\r')
      continue;
    if (padding > 0 && (c != '=' || have + padding == 4))
      return illegal(i);
    if (c == '=') {
      if (have < 2)
        return illegal(i);
      ++padding;
    } else {
      auto digit = alphabet.find(c);
      if (digit == alphabet.npos)
        return illegal(i);
      group = group << 6 | static_cast<std::uint32_t>(digit);
      ++have;
    }
    if (have + padding == 4) {
      group <<= 6 * padding;
      for (int j = 0; j < 3 - padding; ++j)
        out += static_cast<char>(group >> (16 - 8 * j) & 255);
      if (padding == 0)
        group = 0, have = 0;
    }
  }
  if (have != 0 && have + padding != 4)
    return illegal(text.size());
  return out;
}

} // namespace belay::cli
