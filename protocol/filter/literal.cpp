#include "protocol/filter/literal.hpp"

#include "protocol/base/hex.hpp"
#include "protocol/go_compat/quoting.hpp"
#include "protocol/go_compat/syntax.hpp"

#include <limits>
#include <optional>

namespace belay::filter {

namespace {

failure syntax_error() {
  return {"invalid syntax"};
}

/// Value of a digit in bases up to 16; at least 16: not a digit.
unsigned digit_value(char c) {
  return static_cast<unsigned>(hex_value(c));
}

/// Removes the digits at the front.
std::optional<std::uint32_t> take_digits(std::string_view& text, std::size_t count, unsigned base) {
  if (text.size() < count)
    return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto digit = digit_value(text[i]);
    if (digit >= base)
      return std::nullopt;
    value = value * base + digit;
  }
  text.remove_prefix(count);
  return static_cast<std::uint32_t>(value);
}

/// What follows a backslash; false: not an escape of Go.
bool append_escaped(std::string& out, std::string_view& rest) {
  constexpr std::string_view letters = "abfnrtv\\\"", meanings = "\a\b\f\n\r\t\v\\\"";
  if (rest.empty())
    return false;
  const char c = rest.front();
  if (const auto known = letters.find(c); known != std::string_view::npos) {
    out += meanings[known];
    rest.remove_prefix(1);
    return true;
  }
  if (c >= '0' && c <= '7') {
    const auto byte = take_digits(rest, 3, 8);
    if (!byte || *byte > 0xFF)
      return false;
    out += static_cast<char>(*byte);
    return true;
  }
  if (c != 'x' && c != 'u' && c != 'U')
    return false;
  rest.remove_prefix(1);
  const auto code = take_digits(rest, c == 'x' ? 2 : c == 'u' ? 4 : 8, 16);
  if (!code)
    return false;
  if (c == 'x') {
    out += static_cast<char>(*code);
    return true;
  }
  if (*code > 0x10FFFF || (*code >= 0xD800 && *code <= 0xDFFF))
    return false;
  go_compat::append_utf8(out, *code);
  return true;
}

enum class number_error { none, syntax, range };

/// At most one underscore between digits, or between the prefix and the first digit.
bool underscores_fit(std::string_view digits, bool prefixed) {
  bool after_digit = prefixed;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (digits[i] != '_') {
      after_digit = true;
      continue;
    }
    if (!after_digit || i + 1 == digits.size())
      return false;
    after_digit = false;
  }
  return true;
}

/// Go's ParseUint with base 0.
number_error scan(std::string_view text, std::uint64_t& value) {
  value = 0;
  if (text.empty())
    return number_error::syntax;
  unsigned base = 10;
  bool prefixed = false;
  if (text.front() == '0') {
    const char base_letter = text.size() >= 3 ? static_cast<char>(text[1] | 0x20) : '0';
    prefixed = true;
    base = base_letter == 'x' ? 16 : base_letter == 'b' ? 2 : 8;
    text.remove_prefix(base_letter == 'x' || base_letter == 'b' || base_letter == 'o' ? 2 : 1);
  }
  bool too_large = false;
  for (const char c : text) {
    if (c == '_')
      continue;
    const auto digit = digit_value(c);
    if (digit >= base)
      return number_error::syntax;
    // Like in Go, the first digit too many decides, whatever follows.
    if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / base) {
      too_large = true;
      break;
    }
    value = value * base + digit;
  }
  if (too_large)
    return number_error::range;
  return underscores_fit(text, prefixed) ? number_error::none : number_error::syntax;
}

failure complaint(std::string_view function, std::string_view text, number_error why) {
  return why == number_error::range ? go_compat::out_of_range(function, text)
                                    : go_compat::invalid_syntax(function, text);
}

} // namespace

result<std::string> unquote(std::string_view quoted) {
  if (quoted.size() < 2 || quoted.front() != quoted.back())
    return syntax_error();
  auto rest = quoted.substr(1, quoted.size() - 2);
  std::string out;
  if (quoted.front() == '`') {
    for (const char c : rest)
      if (c != '\r') // as in Go's source files
        out += c;
    return out;
  }
  while (!rest.empty()) {
    const char c = rest.front();
    if (c == '\n' || c == '"')
      return syntax_error();
    rest.remove_prefix(1);
    if (c != '\\')
      out += c;
    else if (!append_escaped(out, rest))
      return syntax_error();
  }
  return out;
}

result<std::int64_t> read_integer(std::string_view text) {
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool negative = !text.empty() && text.front() == '-';
  const bool has_sign = negative || (!text.empty() && text.front() == '+');
  std::uint64_t size = 0;
  auto why = scan(text.substr(has_sign ? 1 : 0), size);
  if (why == number_error::none && size > largest + (negative ? 1 : 0))
    why = number_error::range;
  if (why != number_error::none)
    return complaint("ParseInt", text, why);
  return static_cast<std::int64_t>(negative ? 0 - size : size);
}

result<std::uint64_t> read_natural(std::string_view text) {
  std::uint64_t value = 0;
  if (const auto why = scan(text, value); why != number_error::none)
    return complaint("ParseUint", text, why);
  return value;
}

result<bool> read_boolean(std::string_view text) {
  if (const auto b = go_compat::parse_bool(text))
    return *b;
  return go_compat::invalid_syntax("ParseBool", text);
}

} // namespace belay::filter
