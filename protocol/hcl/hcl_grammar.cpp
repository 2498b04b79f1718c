#include "protocol/hcl/grammar.hpp"

#include <vector>

namespace belay::hcl {

namespace {

class hcl_grammar : private grammar {
public:
  using grammar::grammar;

  std::variant<object, error> document() {
    object all;
    const auto end = items(false, all);
    return result_of(end, std::move(all));
  }

private:
  outcome items(bool in_braces, object& out);
  outcome one_item(object& out);
  outcome names(std::vector<token>& out);
  outcome no_value_for(const std::vector<token>& names);
  outcome any_value(value& out);
  outcome braces(value& out);
  outcome brackets(value& out);
  outcome element(list& out, bool& comma_needed);
  outcome wrong_element(const position& at, std::string_view what);
};

/// Up to the end of the text or, in braces, up to the closing one, which is not consumed.
outcome hcl_grammar::items(bool in_braces, object& out) {
  while (true) {
    if (in_braces) {
      scan();
      put_back();
      if (tok_.kind == token_kind::rbrace)
        return outcome::done;
    }
    const auto end = one_item(out);
    if (end == outcome::ended)
      return outcome::done;
    if (end == outcome::wrong)
      return end;
    if (scan().kind != token_kind::comma)
      put_back();
  }
}

outcome hcl_grammar::one_item(object& out) {
  std::vector<token> found;
  if (const auto end = names(found); end != outcome::done)
    return end;
  item made;
  made.at = found.front().at;
  // A label is equivalent to braces around the rest, so it counts as them.
  const level labels(*this, found.size() - 1);
  if (labels.too_deep())
    return too_deep(made.at);
  made.keys.reserve(found.size());
  for (const auto& each : found)
    made.keys.push_back(text_of_token(each));
  const auto end = tok_.kind == token_kind::assign ? any_value(made.is) : braces(made.is);
  if (end != outcome::done)
    return end;
  // hcl looks for a comment after the value; what it finds decides which errors it drops.
  scan();
  put_back();
  out.items.push_back(std::move(made));
  return outcome::done;
}

/// Up to the sign after them, which is `=` or `{`.
outcome hcl_grammar::names(std::vector<token>& out) {
  while (true) {
    switch (scan().kind) {
    case token_kind::ident:
    case token_kind::string:
      out.push_back(tok_);
      break;
    case token_kind::eof:
      return out.empty() ? outcome::ended : no_value_for(out);
    case token_kind::assign:
      if (out.empty())
        return wrong_at_token("no object keys found!");
      if (out.size() > 1)
        return wrong_at_token("nested object expected: LBRACE got: ASSIGN");
      return outcome::done;
    case token_kind::lbrace:
      if (out.empty())
        return wrong_at_token("expected: IDENT | STRING got: LBRACE");
      return outcome::done;
    case token_kind::illegal:
      return wrong_at_token("illegal character");
    case token_kind::rbrace:
      if (!out.empty()) {
        // Not dropped with the object that this brace seems to close.
        tok_.kind = token_kind::eof;
        return no_value_for(out);
      }
      [[fallthrough]];
    default:
      return wrong_at_token("expected: IDENT | STRING | ASSIGN | LBRACE got: " + std::string(name(tok_.kind)));
    }
  }
}

outcome hcl_grammar::no_value_for(const std::vector<token>& names) {
  std::string all;
  for (const auto& each : names)
    (all += all.empty() ? "" : " ") += each.text;
  return wrong_at_token("key '" + all + "' expected start of object ('{') or assignment ('=')");
}

outcome hcl_grammar::any_value(value& out) {
  switch (scan().kind) {
  case token_kind::number:
  case token_kind::floating:
  case token_kind::boolean:
  case token_kind::string:
  case token_kind::heredoc:
    out = literal();
    return outcome::done;
  case token_kind::lbrace:
    return braces(out);
  case token_kind::lbrack:
    return brackets(out);
  case token_kind::eof:
    return outcome::ended; // the item is omitted from the document, without an error
  default:
    return wrong_at_token("Unknown token: " + to_string(tok_));
  }
}

/// @pre tok_ is the opening one
outcome hcl_grammar::braces(value& out) {
  const level open(*this);
  if (open.too_deep())
    return too_deep(tok_.at);
  out.at = tok_.at;
  object inside;
  if (items(true, inside) == outcome::wrong && !forgotten())
    return outcome::wrong;
  if (scan().kind != token_kind::rbrace)
    return wrong_at_token("object expected closing RBRACE got: " + std::string(name(tok_.kind)));
  out.is = std::move(inside);
  return outcome::done;
}

/// @pre tok_ is the opening one
outcome hcl_grammar::brackets(value& out) {
  const level open(*this);
  if (open.too_deep())
    return too_deep(tok_.at);
  out.at = tok_.at;
  list inside;
  bool comma_needed = false;
  while (scan().kind != token_kind::rbrack)
    if (element(inside, comma_needed) == outcome::wrong)
      return outcome::wrong;
  out.is = std::move(inside);
  return outcome::done;
}

/// Or a comma: any number of them may stand where no element does.
outcome hcl_grammar::element(list& out, bool& comma_needed) {
  if (comma_needed && tok_.kind != token_kind::comma)
    return wrong_at_token("error parsing list, expected comma or list end, got: " + std::string(name(tok_.kind)));
  const auto at = tok_.at;
  value made;
  switch (tok_.kind) {
  case token_kind::comma:
    comma_needed = false;
    return outcome::done;
  case token_kind::number:
  case token_kind::floating:
  case token_kind::boolean:
  case token_kind::string:
  case token_kind::heredoc:
    made = literal();
    break;
  case token_kind::lbrace:
    if (braces(made) == outcome::wrong)
      return wrong_element(at, "object");
    break;
  case token_kind::lbrack:
    if (brackets(made) == outcome::wrong)
      return wrong_element(at, "list");
    break;
  default:
    return wrong_at_token("unexpected token while parsing list: " + std::string(name(tok_.kind)));
  }
  // None is needed after a nested list.
  comma_needed = !std::holds_alternative<list>(made.is);
  out.push_back(std::move(made));
  return outcome::done;
}

outcome hcl_grammar::wrong_element(const position& at, std::string_view what) {
  if (over_limit())
    return outcome::wrong;
  return wrong(at, "error while trying to parse " + std::string(what) + " within list: " + shown(*error_));
}

} // namespace

std::variant<object, error> parse_hcl(std::string_view text, const limits& allowed, steps& taken) {
  return hcl_grammar(text, language::hcl, allowed, taken).document();
}

} // namespace belay::hcl
