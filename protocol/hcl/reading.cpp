#include "protocol/hcl/reading.hpp"

#include "protocol/base/ascii_case.hpp"
#include "protocol/base/hex.hpp"
#include "protocol/go_compat/syntax.hpp"
#include "protocol/hcl/token.hpp"

#include <charconv>
#include <limits>
#include <optional>

namespace belay::hcl {

std::vector<const item*> find_all(const object& o, std::string_view name) {
  std::vector<const item*> found;
  for (const auto& each : o.items)
    if (equal_ignoring_case(each.keys.front(), name))
      found.push_back(&each);
  return found;
}

const item* find(const object& o, std::string_view name) {
  const auto all = find_all(o, name);
  return all.empty() ? nullptr : all.back();
}

namespace {

void add_items_of(const object& o, std::vector<block>& out) {
  for (const auto& each : o.items)
    out.push_back({each.at, each.keys.front(), std::span(each.keys).subspan(1), &each.is});
}

} // namespace

std::vector<block> blocks(const object& o, std::string_view name) {
  const auto named = find_all(o, name);
  std::vector<block> found;
  for (const auto* each : named)
    if (each->keys.size() > 1)
      found.push_back({each->at, each->keys[1], std::span(each->keys).subspan(2), &each->is});
  for (const auto* each : named) {
    if (each->keys.size() > 1)
      continue;
    if (const auto* inside = std::get_if<object>(&each->is.is))
      add_items_of(*inside, found);
    else if (const auto* several = std::get_if<list>(&each->is.is))
      for (const auto& element : *several)
        if (const auto* one = std::get_if<object>(&element.is))
          add_items_of(*one, found);
  }
  return found;
}

namespace {

/// A text or number as written.
const std::string* written(const value& v) {
  if (const auto* text = std::get_if<std::string>(&v.is))
    return text;
  const auto* n = std::get_if<number>(&v.is);
  return n == nullptr ? nullptr : &n->text;
}

bool is_fraction(const value& v) {
  const auto* n = std::get_if<number>(&v.is);
  return n != nullptr && !n->is_integer;
}

result<std::int64_t> read_integer(const std::string& text) {
  std::string_view digits = text;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+'))
    digits.remove_prefix(1);
  unsigned base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    base = 16;
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits.front() == '0') {
    base = 8;
    digits.remove_prefix(1);
  }
  if (digits.empty())
    return go_compat::invalid_syntax("ParseInt", text);
  const auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) + (negative ? 1 : 0);
  std::uint64_t sum = 0;
  bool too_large = false;
  for (const char c : digits) {
    const int digit = hex_value(c);
    if (digit < 0 || static_cast<unsigned>(digit) >= base)
      return go_compat::invalid_syntax("ParseInt", text);
    too_large = too_large || sum > (largest - static_cast<unsigned>(digit)) / base;
    sum = too_large ? 0 : sum * base + static_cast<unsigned>(digit);
  }
  if (too_large)
    return go_compat::out_of_range("ParseInt", text);
  return static_cast<std::int64_t>(negative ? 0 - sum : sum);
}

} // namespace

result<std::string> as_text(const value& v) {
  const auto* text = written(v);
  if (text == nullptr || is_fraction(v))
    return failure{"is not a text"};
  return *text;
}

result<std::int64_t> as_integer(const value& v) {
  const auto* text = written(v);
  if (text == nullptr || is_fraction(v))
    return failure{"is not a whole number"};
  return read_integer(*text);
}

result<double> as_real(const value& v) {
  const auto* n = std::get_if<number>(&v.is);
  if (n == nullptr)
    return failure{"is not a number"};
  if (n->is_integer) {
    auto whole = read_integer(n->text);
    if (!whole)
      return whole.reason();
    return static_cast<double>(*whole);
  }
  double read = 0;
  const auto* end = n->text.data() + n->text.size();
  const auto [stop, code] = std::from_chars(n->text.data(), end, read);
  if (code == std::errc::result_out_of_range)
    return go_compat::out_of_range("ParseFloat", n->text);
  if (code != std::errc{} || stop != end)
    return go_compat::invalid_syntax("ParseFloat", n->text);
  return read;
}

result<bool> as_boolean(const value& v) {
  if (const auto* flag = std::get_if<bool>(&v.is))
    return *flag;
  const auto* text = written(v);
  if (text == nullptr || is_fraction(v))
    return failure{"is not a boolean"};
  if (*text == "1" || equal_ignoring_case(*text, "true"))
    return true;
  if (*text == "0" || equal_ignoring_case(*text, "false"))
    return false;
  const bool quoted = std::holds_alternative<std::string>(v.is);
  return failure{"decodeBool: Unknown value for boolean: " + (quoted ? go_compat::quoted(*text) : *text)};
}

std::string location_text(std::string_view file, const position& at) {
  return std::string(file) + ':' + to_string(at);
}

} // namespace belay::hcl
