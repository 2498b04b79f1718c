#include "protocol/hcl/grammar.hpp"

#include "protocol/hcl/unquote.hpp"

namespace belay::hcl {

std::string grammar::text_of_token(const token& t) {
  // No document contains tokens with errors.
  if (scanner_.complaint())
    return {};
  if (t.kind == token_kind::heredoc)
    return heredoc_lines(t.text);
  if (t.kind != token_kind::string)
    return std::string(t.text);
  auto text = in_ == language::hcl ? unquoted_hcl(t.text) : unquoted_json(t.text);
  if (!text && !invalid_)
    invalid_ = {t.at, "unquote " + std::string(t.text) + " err: invalid syntax", error::placed::after_at};
  return std::move(text).value_or("");
}

value grammar::literal() {
  value v;
  v.at = tok_.at;
  switch (tok_.kind) {
  case token_kind::number:
  case token_kind::floating:
    v.is = number{std::string(tok_.text), tok_.kind == token_kind::number};
    break;
  case token_kind::boolean:
    v.is = tok_.text == "true";
    break;
  default:
    v.is = text_of_token(tok_);
  }
  return v;
}

outcome grammar::too_deep(const position& at) {
  over_limit_ = true;
  error_ = {at, "nested deeper than " + std::to_string(nesting_max_) + " levels", error::placed::after_at};
  return outcome::wrong;
}

std::variant<object, error> grammar::result_of(outcome end, object&& found) {
  if (over_limit_)
    return *std::move(error_);
  if (scanner_.complaint())
    return *scanner_.complaint();
  if (end == outcome::wrong)
    return *std::move(error_);
  if (invalid_)
    return *std::move(invalid_);
  return std::move(found);
}

} // namespace belay::hcl
