#pragma once
// Shared by the grammars of HCL and JSON: tokens with one of lookahead, errors, nesting depth.

#include "protocol/hcl/scanner.hpp"

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace belay::hcl {

enum class outcome : std::uint8_t {
  done,
  ended, ///< the text ended where an item or a value could begin
  wrong, ///< see grammar::error_
};

class grammar {
public:
  grammar(std::string_view text, language in, const limits& allowed, steps& taken)
      : nesting_max_(allowed.nesting_max), scanner_(text, in, taken), in_(in) {}

protected:
  /// tok_ is the next token, or the one that was put back.
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

  /// Whether a limit was exceeded: stop reading, and keep the error as it is.
  bool over_limit() const { return over_limit_; }
  /// Whether to drop the error that ended an object. hcl drops it if the object ends there, as in
  /// `a { b = }`.
  bool forgotten() const { return !over_limit_ && tok_.kind == token_kind::rbrace; }

  /// The text of a name or a string. An invalid one is the final error, unless there is another.
  std::string text_of_token(const token& t);
  /// Reads a literal token other than null.
  value literal();

  /// Opens that many levels while it exists. Check too_deep() at once.
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
  /// Ends the parsing: no other error is reported.
  outcome too_deep(const position& at);

  /// @param end outcome of the outermost object
  std::variant<object, error> result_of(outcome end, object&& found);

  token tok_;
  std::optional<error> error_;

private:
  std::size_t nesting_max_;
  std::size_t depth_ = 0;
  bool over_limit_ = false;
  bool put_back_ = false;
  std::optional<error> invalid_;
  scanner scanner_;
  language in_;
};

std::variant<object, error> parse_hcl(std::string_view text, const limits& allowed, steps& taken);
/// Omits items with value null; names are labels where hcl treats them so (json_flattening.hpp).
std::variant<object, error> parse_json(std::string_view text, const limits& allowed, steps& taken);

} // namespace belay::hcl
