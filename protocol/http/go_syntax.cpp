#include "protocol/http/go_syntax.hpp"

#include <limits>

namespace belay::http {

namespace {

enum class number_error { none, syntax, range };

/// Go looks at one digit after the other: a number that is too large stays so, whatever follows.
number_error scan(std::string_view text, std::uint64_t& value) {
  constexpr auto largest = std::numeric_limits<std::uint64_t>::max();
  value = 0;
  if (text.empty())
    return number_error::syntax;
  for (const char c : text) {
    if (c < '0' || c > '9')
      return number_error::syntax;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (largest - digit) / 10)
      return number_error::range;
    value = value * 10 + digit;
  }
  return number_error::none;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

void append_hex(std::string& out, std::uint32_t value, int digits) {
  constexpr char hex[] = "0123456789abcdef";
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    out += hex[(value >> shift) & 15];
}

} // namespace

result<std::uint64_t> read_go_uint(std::string_view text) {
  std::uint64_t value = 0;
  switch (scan(text, value)) {
  case number_error::none:
    return value;
  case number_error::range:
    return failure{"strconv.ParseUint: parsing " + go_quoted(text) + ": value out of range"};
  case number_error::syntax:
    break;
  }
  return failure{"strconv.ParseUint: parsing " + go_quoted(text) + ": invalid syntax"};
}

std::optional<std::uint64_t> parse_go_uint(std::string_view text) {
  std::uint64_t value = 0;
  if (scan(text, value) != number_error::none)
    return std::nullopt;
  return value;
}

std::optional<bool> parse_go_bool(std::string_view text) {
  for (const auto yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (text == yes)
      return true;
  for (const auto no : {"0", "f", "F", "false", "FALSE", "False"})
    if (text == no)
      return false;
  return std::nullopt;
}

std::string go_quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text.front();
    std::uint32_t code_point = 0;
    const auto length = utf8_character(text, code_point);
    if (length == 0) {
      out += "\\x";
      append_hex(out, static_cast<unsigned char>(c), 2);
      text.remove_prefix(1);
      continue;
    }
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (code_point < 0x20 || code_point == 0x7F) {
      out += "\\x";
      append_hex(out, code_point, 2);
    } else if (code_point >= 0x80 && code_point <= 0xA0) {
      out += "\\u";
      append_hex(out, code_point, 4);
    } else
      out.append(text.substr(0, length));
    text.remove_prefix(length);
  }
  return out += '"';
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size())
    return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i]))
      return false;
  return true;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    c = lower(c);
  return out;
}

std::size_t utf8_character(std::string_view text, std::uint32_t& code_point) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const auto first = byte(0);
  if (first < 0x80) {
    code_point = first;
    return 1;
  }
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length)
    return 0;
  std::uint32_t value = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80)
      return 0;
    value = (value << 6) | (byte(i) & 0x3F);
  }
  // Too long a form, a surrogate, or beyond the last character (Unicode 15, table 3-7).
  if ((length == 3 && value < 0x800) || (length == 4 && value < 0x10000) || value > 0x10FFFF ||
      (value >= 0xD800 && value <= 0xDFFF))
    return 0;
  code_point = value;
  return length;
}

} // namespace belay::http
