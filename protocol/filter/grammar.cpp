#include "protocol/filter/grammar.hpp"

#include "protocol/filter/literal.hpp"
#include "protocol/filter/reader.hpp"
#include "protocol/go_compat/quoting.hpp"

#include <initializer_list>
#include <optional>

namespace belay::filter {

namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The rules. A rule that fails consumes nothing.
class grammar {
public:
  explicit grammar(std::string_view text) : in_(text) {}

  result<expression> input() {
    const auto start = in_.at();
    // Two alternatives: the first one fails for "(a) or (b)".
    for (const bool grouped : {true, false}) {
      in_.back_to(start);
      comparisons_ = 0;
      nesting_ = grouped ? 1 : 0;
      spaces();
      if (grouped && !(open() && (spaces(), true)))
        continue;
      auto e = or_expression();
      if (!limit_.empty())
        return failure{limit_};
      if (e && grouped && !((spaces(), true) && close()))
        continue;
      if (e && (spaces(), in_.end()) && !in_.has_complaints())
        return std::move(*e);
    }
    return in_.reason();
  }

private:
  using found = std::optional<expression>;

  // ---- and, or, not, parentheses

  found or_expression() { return joined(node_kind::any); }
  found and_expression() { return joined(node_kind::all); }

  /// A list separated by `and` or `or`, as long as possible.
  found joined(node_kind kind) {
    const auto part = [&] { return kind == node_kind::any ? and_expression() : not_expression(); };
    auto first = part();
    if (!first)
      return std::nullopt;
    expression list;
    list.kind = kind;
    list.parts.push_back(std::move(*first));
    for (;;) {
      const auto start = in_.at();
      const bool more =
          spaces() && (kind == node_kind::any ? in_.literal("or", "\"or\"") : in_.literal("and", "\"and\""));
      found next;
      if (more && spaces())
        next = part();
      if (!next) {
        in_.back_to(start);
        break;
      }
      list.parts.push_back(std::move(*next));
    }
    if (list.parts.size() == 1)
      return std::move(list.parts.front());
    return list;
  }

  /// `not` may also be a field's name: takes as many as possible that still leave an operand.
  found not_expression() {
    std::vector<text_position> starts{in_.at()};
    while (in_.literal("not", "\"not\"") && spaces())
      starts.push_back(in_.at());
    while (!starts.empty()) {
      in_.back_to(starts.back());
      starts.pop_back();
      auto operand = grouping();
      if (!limit_.empty())
        return std::nullopt;
      if (!operand)
        continue;
      if (starts.size() % 2 == 0)
        return operand;
      if (operand->kind == node_kind::negation)
        return std::move(operand->parts.front());
      expression e;
      e.kind = node_kind::negation;
      e.parts.push_back(std::move(*operand));
      return e;
    }
    return std::nullopt;
  }

  found grouping() {
    const auto start = in_.at();
    if (!open())
      return match_expression();
    if (nesting_ == nesting_max) {
      limit_ = "expression is nested deeper than " + std::to_string(nesting_max) + " levels";
      return std::nullopt;
    }
    ++nesting_;
    spaces();
    auto e = or_expression();
    --nesting_;
    if (e) {
      spaces();
      if (close())
        return e;
      in_.complain(in_.at(), "grouping", "Unmatched parentheses");
    }
    in_.back_to(start);
    return std::nullopt;
  }

  bool open() { return in_.literal("(", "\"(\""); }
  bool close() { return in_.literal(")", "\")\""); }

  // ---- comparisons

  found match_expression() {
    const auto start = in_.at();
    auto m = selector_op_value();
    if (!m)
      m = selector_op();
    if (!m)
      m = value_op_selector();
    if (!m) {
      in_.back_to(start);
      return std::nullopt;
    }
    if (++comparisons_ > comparisons_max) {
      limit_ = "expression has more than " + std::to_string(comparisons_max) + " comparisons";
      return std::nullopt;
    }
    expression e;
    e.match = std::move(*m);
    return e;
  }

  std::optional<match> selector_op_value() {
    const auto start = in_.at();
    match m;
    if (selector(m.selector)) {
      using op = match_operator;
      const bool known =
          symbol("==", "\"==\"", op::equal, m.op) || symbol("!=", "\"!=\"", op::not_equal, m.op) ||
          words({"contains"}, true, op::in, m.op) || words({"not", "contains"}, true, op::not_in, m.op) ||
          words({"matches"}, true, op::matches, m.op) || words({"not", "matches"}, true, op::not_matches, m.op);
      if (known && value(m.value))
        return m;
    }
    in_.back_to(start);
    return std::nullopt;
  }

  std::optional<match> selector_op() {
    const auto start = in_.at();
    match m;
    if (selector(m.selector) && (words({"is", "empty"}, false, match_operator::is_empty, m.op) ||
                                 words({"is", "not", "empty"}, false, match_operator::is_not_empty, m.op)))
      return m;
    in_.back_to(start);
    return std::nullopt;
  }

  std::optional<match> value_op_selector() {
    const auto start = in_.at();
    for (const bool complaining : {false, true}) {
      in_.back_to(start);
      match m;
      if (!value(m.value) ||
          !(words({"in"}, true, match_operator::in, m.op) || words({"not", "in"}, true, match_operator::not_in, m.op)))
        continue;
      if (!complaining) {
        if (selector(m.selector))
          return m;
      } else if (!in_.unless([&] { return selector(m.selector); }))
        in_.complain(in_.at(), "match", "Invalid selector");
    }
    in_.back_to(start);
    return std::nullopt;
  }

  bool symbol(std::string_view text, std::string_view shown, match_operator op, match_operator& out) {
    const auto start = in_.at();
    spaces();
    if (!in_.literal(text, shown)) {
      in_.back_to(start);
      return false;
    }
    spaces();
    out = op;
    return true;
  }

  /// Words with space before each, and after the last one if something must follow.
  bool words(std::initializer_list<std::string_view> list, bool space_behind, match_operator op, match_operator& out) {
    const auto start = in_.at();
    for (const auto word : list)
      if (!spaces() || !in_.literal(word, go_compat::quoted(word))) {
        in_.back_to(start);
        return false;
      }
    if (space_behind && !spaces()) {
      in_.back_to(start);
      return false;
    }
    out = op;
    return true;
  }

  // ---- selectors

  bool selector(std::vector<std::string>& out) {
    out.clear();
    std::string part;
    if (!identifier(part))
      return false;
    do
      out.push_back(std::move(part));
    while (selector_part(part));
    return true;
  }

  bool identifier(std::string& out) {
    const auto start = in_.at();
    if (!in_.character(is_letter, "[a-zA-Z]"))
      return false;
    while (in_.character([](char c) { return is_letter(c) || is_digit(c) || c == '_'; }, "[a-zA-Z0-9_]"))
      ;
    out = in_.since(start);
    return true;
  }

  bool selector_part(std::string& out) {
    const auto start = in_.at();
    if (in_.literal(".", "\".\"") && identifier(out))
      return true;
    in_.back_to(start);
    return index(out);
  }

  bool index(std::string& out) {
    const auto start = in_.at();
    if (!bracket())
      return false;
    bool text = string_literal(out);
    if (text && ((spaces(), true) && in_.literal("]", "\"]\"")))
      return true;
    in_.back_to(start);
    bracket();
    if (!in_.unless([&] { return string_literal(out); })) {
      in_.complain(in_.at(), "index", "Invalid index");
    } else {
      string_literal(out);
      spaces();
      if (!in_.unless([&] { return in_.literal("]", "\"]\""); }))
        in_.complain(in_.at(), "index", "Unclosed index expression");
    }
    in_.back_to(start);
    return false;
  }

  bool bracket() { return in_.literal("[", "\"[\"") && (spaces(), true); }

  // ---- values

  bool value(std::string& out) {
    std::vector<std::string> name;
    if (selector(name)) {
      out = filter::to_string(name);
      return true;
    }
    return number(out) || string_literal(out);
  }

  bool number(std::string& out) {
    const auto start = in_.at();
    if (!digits() || !behind_number()) {
      in_.back_to(start);
      if (digits() && !in_.unless([&] { return behind_number(); }))
        in_.complain(in_.at(), "number", "Invalid number literal");
      in_.back_to(start);
      return false;
    }
    out = in_.since(start);
    return true;
  }

  bool digits() {
    in_.literal("-", "\"-\"");
    if (!in_.literal("0", "\"0\"")) {
      if (!in_.character([](char c) { return c >= '1' && c <= '9'; }, "[1-9]"))
        return false;
      while (digit())
        ;
    }
    const auto start = in_.at();
    if (in_.literal(".", "\".\"") && digit())
      while (digit())
        ;
    else
      in_.back_to(start);
    return true;
  }

  bool digit() { return in_.character(is_digit, "[0-9]"); }

  /// Lookahead only.
  bool behind_number() {
    const auto start = in_.at();
    const bool ok = spaces() || in_.end() || close();
    in_.back_to(start);
    return ok;
  }

  bool string_literal(std::string& out) {
    const auto start = in_.at();
    if (quoted("`", "\"`\"", true) || quoted("\"", "\"\\\"\"", true)) {
      auto text = unquote(in_.since(start));
      // The text is invalid, but the rule matches: continues; the error rejects the whole filter.
      if (text)
        out = std::move(*text);
      else
        in_.complain(start, "string", text.error());
      return true;
    }
    if ((quoted("`", "\"`\"", false) || quoted("\"", "\"\\\"\"", false)) && in_.end())
      in_.complain(in_.at(), "string", "Unterminated string literal");
    in_.back_to(start);
    return false;
  }

  bool quoted(std::string_view quote, std::string_view shown, bool closed) {
    const auto start = in_.at();
    if (!in_.literal(quote, shown))
      return false;
    while (in_.character_but(quote, shown))
      ;
    if (!closed || in_.literal(quote, shown))
      return true;
    in_.back_to(start);
    return false;
  }

  bool spaces() {
    const auto start = in_.at().offset;
    while (in_.character([](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }, "[ \\t\\r\\n]"))
      ;
    return in_.at().offset != start;
  }

  reader in_;
  std::size_t nesting_ = 0, comparisons_ = 0;
  std::string limit_; ///< the limit that was exceeded
};

/// Offset of the first invalid byte of UTF-8.
std::optional<std::size_t> broken_at(std::string_view text) {
  std::uint32_t ignored = 0;
  for (std::size_t i = 0; i < text.size();) {
    const auto length = go_compat::utf8_character(text.substr(i), ignored);
    if (length == 0)
      return i;
    i += length;
  }
  return std::nullopt;
}

} // namespace

result<expression> parse(std::string_view text) {
  if (text.size() > text_bytes_max)
    return failure{"expression is longer than " + std::to_string(text_bytes_max) + " bytes"};
  if (const auto offset = broken_at(text))
    return failure{"invalid encoding at offset " + std::to_string(*offset)};
  return grammar(text).input();
}

} // namespace belay::filter
