#pragma once
// What the grammars of HCL and of JSON share: tokens with one that can be put back, the error they ended with, and how deep they are.

#include "protocol/hcl/scanner.hpp"

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace belay::hcl {

enum class outcome : std::uint8_t {
  done,
  ended, ///< the text ended where an item or a value could have begun
  wrong, ///< see grammar::error_
};

class grammar {
public:
  grammar(std::string_view text, language in, const limits& allowed, steps& taken)
      : nesting_max_(allowed.nesting_max), scanner_(text, in, taken), in_(in) {}

protected:
  /// tok_ is the next token, or again that which was put back.
  const token& scan() {
    if (!std::exchange(put_back_, false))
      tok_ = scanner_.next();
    return tok_;
  }
  void put_back() { put_back_ = true; }

  outcome wrong(const position& at, std::string text) {
    error_ = {at, std::move(text), in_ == language::hcl ? error::placed::after_at : error::placed::left_out};
    return outcome::wrong;
  }
  outcome wrong_at_token(std::string text) { return wrong(tok_.at, std::move(text)); }

  /// Nothing more is to be read, and the error stays as it is.
  bool over_limit() const { return over_limit_; }
  /// Of an error that ended an object. hcl forgets it if the object ends there, so that `a { b = }` needs one more brace.
  bool forgotten() const { return !over_limit_ && tok_.kind == token_kind::rbrace; }

  /// What a name or a text says. One that says nothing is an error at the end, if there is no other.
  std::string said(const token& t);
  /// Of a token that is a literal, but for null.
  value literal();

  /// That many levels are open for as long as it lives. Whoever opens one asks at once whether it is too deep.
  class level {
  public:
    explicit level(grammar& g, std::size_t levels = 1) : grammar_(g), levels_(levels) { g.depth_ += levels; }
    level(const level&) = delete;
    level& operator=(const level&) = delete;
    ~level() { grammar_.depth_ -= levels_; }
    bool too_deep() const { return grammar_.depth_ > grammar_.nesting_max_; }

  private:
    grammar& grammar_;
    std::size_t levels_;
  };
  /// Ends the parsing: no other error is said.
  outcome too_deep(const position& at);

  /// @param end what the outermost object ended with
  std::variant<object, error> verdict(outcome end, object&& found);

  token tok_;
  std::optional<error> error_;

private:
  std::size_t nesting_max_;
  std::size_t depth_ = 0;
  bool over_limit_ = false;
  bool put_back_ = false;
  std::optional<error> says_nothing_;
  scanner scanner_;
  language in_;
};

std::variant<object, error> parse_hcl(std::string_view text, const limits& allowed, steps& taken);
/// Items with the value null are left out, and names are labels where hcl makes them so (json_flattening.hpp).
std::variant<object, error> parse_json(std::string_view text, const limits& allowed, steps& taken);

} // namespace belay::hcl
