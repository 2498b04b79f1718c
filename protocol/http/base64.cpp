#include "protocol/http/base64.hpp"

#include <cstdint>

namespace belay::http {

namespace {

int digit_value(char c) {
  if (c >= 'A' && c <= 'Z')
    return c - 'A';
  if (c >= 'a' && c <= 'z')
    return c - 'a' + 26;
  if (c >= '0' && c <= '9')
    return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

failure illegal(std::size_t at) {
  return {"illegal base64 data at input byte " + std::to_string(at)};
}

bool is_line_break(char c) {
  return c == '\n' || c == '\r';
}

} // namespace

result<std::string> decode_base64(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  int digits = 0, padding = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_line_break(text[i]))
      continue;
    if (text[i] == '=' && (digits == 3 || (digits == 2 && padding < 2))) {
      ++padding;
      if (digits + padding < 4)
        continue;
      // Behind the padding nothing may follow.
      for (auto rest = i + 1; rest < text.size(); ++rest)
        if (!is_line_break(text[rest]))
          return illegal(rest);
      out += static_cast<char>(digits == 3 ? bits >> 10 : bits >> 4);
      if (digits == 3)
        out += static_cast<char>(bits >> 2);
      return out;
    }
    const int value = digit_value(text[i]);
    if (value < 0 || padding != 0)
      return illegal(i);
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    if (++digits < 4)
      continue;
    out += static_cast<char>(bits >> 16);
    out += static_cast<char>(bits >> 8);
    out += static_cast<char>(bits);
    bits = 0;
    digits = 0;
  }
  if (digits != 0)
    return illegal(text.size());
  return out;
}

} // namespace belay::http
