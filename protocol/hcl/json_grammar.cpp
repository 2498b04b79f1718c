#include "protocol/hcl/grammar.hpp"
#include "protocol/hcl/json_flattening.hpp"

namespace belay::hcl {

namespace {

class json_grammar : private grammar {
public:
  json_grammar(std::string_view text, const limits& allowed, steps& taken)
      : grammar(text, language::json, allowed, taken), allowed_(allowed) {}

  std::variant<object, error> document() {
    value all;
    auto end = outcome::done;
    // White space that is invalid in JSON may precede the brace.
    if (scan().kind == token_kind::lbrace)
      end = braces(all);
    else
      end = wrong_at_token("Expected object, got unknown token: " + to_string(tok_));
    object found;
    if (end == outcome::done)
      found = std::get<object>(std::move(all.is));
    auto result = result_of(end, std::move(found));
    if (auto* whole = std::get_if<object>(&result))
      if (auto failed = flatten(*whole, allowed_.label_bytes_max))
        return *std::move(failed);
    return result;
  }

private:
  outcome items(object& out);
  outcome one_item(object& out);
  outcome any_value(value& out);
  outcome braces(value& out);
  outcome brackets(value& out);

  const limits& allowed_;
};

/// Ends with the token after the last item, whatever it is. hcl expects no brace there, and treats
/// what follows as the rest of the enclosing object.
outcome json_grammar::items(object& out) {
  do {
    const auto end = one_item(out);
    if (end == outcome::ended)
      return outcome::done;
    if (end == outcome::wrong)
      return end;
  } while (scan().kind == token_kind::comma);
  return outcome::done;
}

outcome json_grammar::one_item(object& out) {
  item made;
  // More than one name is invalid JSON, but hcl accepts it.
  while (scan().kind == token_kind::string) {
    if (made.keys.empty())
      made.at = tok_.at;
    made.keys.push_back(text_of_token(tok_));
  }
  if (tok_.kind == token_kind::eof)
    return outcome::ended;
  if (tok_.kind == token_kind::illegal)
    return wrong_at_token("illegal");
  if (tok_.kind != token_kind::colon || made.keys.empty())
    return wrong_at_token("expected: STRING got: " + std::string(name(tok_.kind)));
  const level labels(*this, made.keys.size() - 1);
  if (labels.too_deep())
    return too_deep(made.at);
  const auto end = any_value(made.is);
  if (end == outcome::done)
    out.items.push_back(std::move(made));
  return end;
}

outcome json_grammar::any_value(value& out) {
  switch (scan().kind) {
  case token_kind::number:
  case token_kind::floating:
  case token_kind::boolean:
  case token_kind::string:
    out = literal();
    return outcome::done;
  case token_kind::null:
    out = {tok_.at, json_null()};
    return outcome::done;
  case token_kind::lbrace:
    return braces(out);
  case token_kind::lbrack:
    return brackets(out);
  case token_kind::eof:
    return outcome::ended;
  default:
    return wrong_at_token("Expected object value, got unknown token: " + to_string(tok_));
  }
}

/// @pre tok_ is the opening one
outcome json_grammar::braces(value& out) {
  const level open(*this);
  if (open.too_deep())
    return too_deep(tok_.at);
  out.at = tok_.at;
  object inside;
  // An object without items, and one with a trailing comma, are errors that hcl drops.
  if (items(inside) == outcome::wrong && !forgotten())
    return outcome::wrong;
  out.is = std::move(inside);
  return outcome::done;
}

/// Any number of commas. Skips booleans and the opening brackets of nested lists, as hcl does.
/// @pre tok_ is the opening one
outcome json_grammar::brackets(value& out) {
  const level open(*this);
  if (open.too_deep())
    return too_deep(tok_.at);
  out.at = tok_.at;
  list inside;
  while (scan().kind != token_kind::rbrack) {
    switch (tok_.kind) {
    case token_kind::number:
    case token_kind::floating:
    case token_kind::string:
      inside.push_back(literal());
      break;
    case token_kind::lbrace:
      if (braces(inside.emplace_back()) == outcome::wrong)
        return outcome::wrong;
      break;
    case token_kind::comma:
    case token_kind::boolean:
    case token_kind::lbrack:
      break;
    default:
      return wrong_at_token("unexpected token while parsing list: " + std::string(name(tok_.kind)));
    }
  }
  out.is = std::move(inside);
  return outcome::done;
}

} // namespace

std::variant<object, error> parse_json(std::string_view text, const limits& allowed, steps& taken) {
  return json_grammar(text, allowed, taken).document();
}

} // namespace belay::hcl
