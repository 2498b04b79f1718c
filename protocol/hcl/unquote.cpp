#include "protocol/hcl/unquote.hpp"

#include "protocol/base/hex.hpp"
#include "protocol/go_compat/quoting.hpp"

#include <algorithm>
#include <cstdint>

namespace belay::hcl {

namespace {

constexpr std::uint32_t replacement = 0xFFFD;

/// Removes exactly `count` digits from the front and returns their value.
std::optional<std::uint32_t> taken_number(std::string_view& rest, std::size_t count, std::uint32_t base) {
  if (rest.size() < count)
    return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : rest.substr(0, count)) {
    const int digit = hex_value(c);
    if (digit < 0 || static_cast<std::uint32_t>(digit) >= base)
      return std::nullopt;
    value = value * base + static_cast<std::uint32_t>(digit);
  }
  rest.remove_prefix(count);
  return value;
}

bool append_character(std::string& out, std::optional<std::uint32_t> code_point) {
  if (!code_point || *code_point > 0x10FFFF)
    return false;
  const bool surrogate = *code_point >= 0xD800 && *code_point <= 0xDFFF;
  go_compat::append_utf8(out, surrogate ? replacement : *code_point);
  return true;
}

bool append_byte(std::string& out, std::optional<std::uint32_t> byte) {
  if (!byte || *byte > 0xFF)
    return false;
  out += static_cast<char>(static_cast<unsigned char>(*byte));
  return true;
}

/// `rest` is after the backslash.
bool append_escaped(std::string& out, std::string_view& rest) {
  if (rest.empty())
    return false;
  if (rest.front() >= '0' && rest.front() <= '7')
    return append_byte(out, taken_number(rest, 3, 8));
  const char c = rest.front();
  rest.remove_prefix(1);
  switch (c) {
  case 'x':
    return append_byte(out, taken_number(rest, 2, 16));
  case 'u':
    return append_character(out, taken_number(rest, 4, 16));
  case 'U':
    return append_character(out, taken_number(rest, 8, 16));
  default:
    break;
  }
  constexpr std::string_view letters = "abfnrtv\\\"", meant = "\a\b\f\n\r\t\v\\\"";
  const auto known = letters.find(c);
  if (known == std::string_view::npos)
    return false;
  out += meant[known];
  return true;
}

/// Bytes of `rest`, which begins with ${, up to the closing brace. nullopt: there is none, or a
/// character that Go considers invalid UTF-8.
std::optional<std::size_t> interpolation_bytes(std::string_view rest) {
  int braces = 0;
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '{')
      ++braces;
    else if (rest[i] == '}' && --braces == 0)
      return rest.substr(0, i).find("\xEF\xBF\xBD") == std::string_view::npos ? std::optional(i + 1) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::string> unquoted(std::string_view quoted, bool interpolation) {
  if (quoted.size() < 2)
    return std::nullopt;
  auto rest = quoted.substr(1, quoted.size() - 2);
  std::string out;
  out.reserve(rest.size());
  while (!rest.empty()) {
    if (interpolation && rest.substr(0, 2) == "${") {
      const auto bytes = interpolation_bytes(rest);
      if (!bytes)
        return std::nullopt;
      out += rest.substr(0, *bytes);
      rest.remove_prefix(*bytes);
    } else if (rest.front() == '\\') {
      rest.remove_prefix(1);
      if (!append_escaped(out, rest))
        return std::nullopt;
    } else {
      out += rest.front();
      rest.remove_prefix(1);
    }
  }
  return out;
}

std::string joined_without_indentation(std::string_view lines, std::string_view indentation) {
  std::string out;
  while (!lines.empty()) {
    const auto length = lines.find('\n') + 1;
    out += lines.substr(indentation.size(), length - indentation.size());
    lines.remove_prefix(length);
  }
  return out;
}

bool all_begin_with(std::string_view lines, std::string_view indentation) {
  while (!lines.empty()) {
    if (lines.substr(0, indentation.size()) != indentation)
      return false;
    lines.remove_prefix(lines.find('\n') + 1);
  }
  return true;
}

} // namespace

std::optional<std::string> unquoted_hcl(std::string_view quoted) {
  return unquoted(quoted, true);
}

std::optional<std::string> unquoted_json(std::string_view quoted) {
  return unquoted(quoted, false);
}

std::string heredoc_lines(std::string_view heredoc) {
  // hcl finds the end of the last line but one by the first line's length, and so does this. White
  // space before the last EOF of <<EOF and carriage returns after it leave part of it there.
  const auto first = heredoc.find('\n');
  const auto body = heredoc.substr(first + 1);
  const auto anchor_bytes = first - 2; // with the dash
  const bool indented = heredoc[2] == '-';
  if (!indented)
    return std::string(body.substr(0, body.size() - anchor_bytes - 1));

  const auto with_indentation = body.substr(0, body.size() - anchor_bytes);
  const auto last_line = with_indentation.rfind('\n') + 1; // 0 if there is no other
  const auto lines = with_indentation.substr(0, last_line);
  const auto indentation = with_indentation.substr(last_line);
  if (all_begin_with(lines, indentation))
    return joined_without_indentation(lines, indentation);
  const auto unchanged = with_indentation.substr(0, with_indentation.size() - 1);
  return std::string(unchanged.substr(0, unchanged.find_last_not_of(" \t") + 1));
}

} // namespace belay::hcl
