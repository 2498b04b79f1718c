#include "client/core/cursors.hpp"

#include "client/core/json_answers.hpp"

#include <charconv>

namespace belay {
inline namespace v0 {
namespace detail {

namespace {

constexpr std::size_t history_digits = 16;
constexpr std::size_t history_bits = 64;

std::optional<std::uint64_t> history_in(std::string_view digits) {
  std::uint64_t n = 0;
  auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), n, 16);
  if (digits.size() != history_digits || wrong != std::errc{} || end != digits.data() + digits.size() || n == 0)
    return std::nullopt;
  return n;
}

/// nullopt: there is no history in it.
std::optional<std::uint64_t> history_in_blanks(std::string_view text) {
  if (text.size() < history_bits)
    return std::nullopt;
  std::uint64_t n = 0;
  for (char c : text.substr(0, history_bits)) {
    if (c != ' ' && c != '\n')
      return std::nullopt;
    n = n << 1 | (c == '\n' ? 1u : 0u);
  }
  return n;
}

} // namespace

std::string cursor_parts::text() const {
  if (history == 0 || position.empty())
    return position;
  std::string out = position + "@";
  for (int shift = 60; shift >= 0; shift -= 4)
    out += "0123456789abcdef"[history >> shift & 15];
  return out;
}

cursor_parts parts_of_cursor(std::string_view text) {
  auto at = text.find('@');
  cursor_parts out;
  out.position = text.substr(0, at);
  if (at != text.npos)
    out.history = history_in(text.substr(at + 1)).value_or(0);
  return out;
}

bool is_cursor(std::string_view text) {
  auto at = text.find('@');
  if (at != text.npos && !history_in(text.substr(at + 1)))
    return false;
  auto position = text.substr(0, at);
  auto dot = position.find('.');
  return number_in(position.substr(0, dot)) && (dot == position.npos || number_in(position.substr(dot + 1)));
}

std::pair<std::uint64_t, std::uint64_t> order_of(std::string_view cursor) {
  auto position = cursor.substr(0, cursor.find('@'));
  auto dot = position.find('.');
  auto index = number_in(position.substr(0, dot)).value_or(0);
  auto number = dot == position.npos ? UINT64_MAX : number_in(position.substr(dot + 1)).value_or(0);
  return {index, number};
}

std::string file_text_of(std::string_view text) {
  auto c = parts_of_cursor(text);
  auto out = c.position + "\n";
  if (c.history == 0)
    return out;
  for (std::size_t bit = history_bits; bit-- > 0;)
    out += c.history >> bit & 1 ? '\n' : ' ';
  return out + "\n";
}

std::optional<std::string> cursor_in_file_text(std::string_view text) {
  auto end = text.find_first_of("\n ");
  auto first = text.substr(0, end);
  auto rest = end == text.npos ? std::string_view() : text.substr(end);
  if (rest.find_first_not_of("\n ") != rest.npos)
    return std::nullopt;
  if (!is_cursor(first))
    return std::nullopt;
  auto c = parts_of_cursor(first);
  if (c.history == 0 && rest.size() > history_bits)
    c.history = history_in_blanks(rest.substr(1)).value_or(0);
  return c.text();
}

} // namespace detail
} // namespace v0
} // namespace belay
