#include "protocol/filter/expression.hpp"

#include "protocol/go_compat/quoting.hpp"

#include <algorithm>
#include <array>

namespace belay::filter {

namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_identifier(std::string_view text) {
  return !text.empty() && is_letter(text.front()) && std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
  });
}

/// The grammar ends a text at the next quote, escaped or not, so a quote inside must be numeric.
void append_literal(std::string& out, std::string_view text) {
  const auto quoted = go_compat::quoted(text);
  out += '"';
  for (std::size_t i = 1; i + 1 < quoted.size(); ++i) {
    if (quoted[i] != '\\') {
      out += quoted[i];
      continue;
    }
    ++i;
    if (quoted[i] == '"')
      out += "\\x22";
    else
      (out += '\\') += quoted[i];
  }
  out += '"';
}

void append_selector(std::string& out, const std::vector<std::string>& selector) {
  out += selector.front();
  for (std::size_t i = 1; i < selector.size(); ++i) {
    if (is_identifier(selector[i])) {
      (out += '.') += selector[i];
    } else {
      out += '[';
      append_literal(out, selector[i]);
      out += ']';
    }
  }
}

void append_match(std::string& out, const match& m) {
  switch (m.op) {
  case match_operator::in:
  case match_operator::not_in:
    append_literal(out, m.value);
    out += m.op == match_operator::in ? " in " : " not in ";
    append_selector(out, m.selector);
    return;
  case match_operator::is_empty:
  case match_operator::is_not_empty:
    append_selector(out, m.selector);
    out += m.op == match_operator::is_empty ? " is empty" : " is not empty";
    return;
  case match_operator::equal:
  case match_operator::not_equal:
  case match_operator::matches:
  case match_operator::not_matches:
    append_selector(out, m.selector);
    out += m.op == match_operator::equal       ? " == "
           : m.op == match_operator::not_equal ? " != "
           : m.op == match_operator::matches   ? " matches "
                                               : " not matches ";
    append_literal(out, m.value);
    return;
  }
}

void append_expression(std::string& out, const expression& e) {
  if (e.kind == node_kind::match) {
    append_match(out, e.match);
    return;
  }
  if (e.kind == node_kind::negation)
    out += "not ";
  bool first = true;
  for (const auto& part : e.parts) {
    if (!first)
      out += e.kind == node_kind::all ? " and " : " or ";
    first = false;
    const bool bare = part.kind == node_kind::match || part.kind == node_kind::negation;
    if (!bare)
      out += '(';
    append_expression(out, part);
    if (!bare)
      out += ')';
  }
}

} // namespace

std::string_view name_of(match_operator op) {
  constexpr std::array<std::string_view, 8> names = {"Equal",    "Not Equal",    "In",      "Not In",
                                                     "Is Empty", "Is Not Empty", "Matches", "Not Matches"};
  static_assert(names.size() == static_cast<std::size_t>(match_operator::not_matches) + 1);
  return names[static_cast<std::size_t>(op)];
}

bool is_negative(match_operator op) {
  return op == match_operator::not_equal || op == match_operator::not_in || op == match_operator::is_not_empty ||
         op == match_operator::not_matches;
}

bool takes_value(match_operator op) {
  return op != match_operator::is_empty && op != match_operator::is_not_empty;
}

std::string to_string(const std::vector<std::string>& selector) {
  std::string out;
  for (const auto& part : selector) {
    if (&part != &selector.front())
      out += '.';
    out += part;
  }
  return out;
}

std::string to_string(const expression& e) {
  std::string out;
  append_expression(out, e);
  return out;
}

} // namespace belay::filter
