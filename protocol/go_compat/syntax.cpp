#include "protocol/go_compat/syntax.hpp"

#include <charconv>
#include <limits>

namespace belay::go_compat {

namespace {

enum class number_error { none, syntax, range };

/// Like Go, digit by digit: a number that is too large stays so, whatever follows.
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

failure strconv_failure(std::string_view function, std::string_view text, std::string_view why) {
  return failure{"strconv." + std::string(function) + ": parsing " + quoted(text) + ": " + std::string(why)};
}

} // namespace

failure invalid_syntax(std::string_view function, std::string_view text) {
  return strconv_failure(function, text, "invalid syntax");
}

failure out_of_range(std::string_view function, std::string_view text) {
  return strconv_failure(function, text, "value out of range");
}

result<std::uint64_t> read_uint(std::string_view text) {
  std::uint64_t value = 0;
  switch (scan(text, value)) {
  case number_error::none:
    return value;
  case number_error::range:
    return out_of_range("ParseUint", text);
  case number_error::syntax:
    break;
  }
  return invalid_syntax("ParseUint", text);
}

std::optional<std::uint64_t> parse_uint(std::string_view text) {
  std::uint64_t value = 0;
  if (scan(text, value) != number_error::none)
    return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_int(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  return wrong == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<bool> parse_bool(std::string_view text) {
  for (const auto yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (text == yes)
      return true;
  for (const auto no : {"0", "f", "F", "false", "FALSE", "False"})
    if (text == no)
      return false;
  return std::nullopt;
}

} // namespace belay::go_compat
