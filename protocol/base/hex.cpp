#include "protocol/base/hex.hpp"

namespace belay {

namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

} // namespace

void append_hex(std::string& out, std::uint64_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    out += hex_digits[(value >> shift) & 15];
}

std::string to_hex(std::uint64_t value) {
  std::string out;
  out.reserve(16);
  append_hex(out, value, 16);
  return out;
}

std::optional<std::uint64_t> from_hex(std::string_view text) {
  if (text.size() != 16 || text.find_first_not_of(hex_digits) != std::string_view::npos)
    return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text)
    value = value << 4 | static_cast<std::uint64_t>(hex_value(c));
  return value;
}

} // namespace belay
