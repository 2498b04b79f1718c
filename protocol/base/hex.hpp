#pragma once
// Hexadecimal digits: numbers as texts of a fixed width (file names, digests, ids), and back.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay {

/// Value of a digit in either case; -1: not a digit.
constexpr int hex_value(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

/// The last `digits` digits of `value`, lower case, with leading zeros. @pre digits is from 1 to 16
void append_hex(std::string& out, std::uint64_t value, int digits);
/// All 16 digits.
std::string to_hex(std::uint64_t value);
/// Inverse of to_hex(); nullopt: any other text, such as a damaged or truncated one.
std::optional<std::uint64_t> from_hex(std::string_view text);

} // namespace belay
