#pragma once
// From characters to tokens. What cannot be a token is complained about, and scanning goes on behind it.

#include "protocol/hcl/cursor.hpp"
#include "protocol/hcl/token.hpp"

namespace belay::hcl {

class scanner {
public:
  /// `taken` outlives the scanner, and the text its tokens.
  scanner(std::string_view text, language in, steps& taken) : at_(text, in, taken), in_(in), taken_(taken) {}

  /// Comments are passed over. Behind the last token comes eof, as often as is asked.
  token next();

  /// The last one. Whoever parses goes on until the grammar says stop, and then says this rather than what the grammar says.
  const std::optional<error>& complaint() const { return at_.complaint(); }

private:
  token next_or_comment();
  token_kind kind_of(char32_t first, std::size_t start);
  token_kind sign_of_hcl(char32_t first);
  token_kind sign_of_json(char32_t first);

  token_kind word(std::size_t start);
  void comment(char32_t first);

  token_kind number(char32_t first);
  token_kind number_of_json(char32_t first);
  token_kind number_from_zero();
  token_kind fraction_or_exponent(char32_t c, bool& found);
  token_kind period();
  char32_t digits(char32_t first);
  void exponent();

  void string();
  void escape();
  void escape_digits(char32_t first, int base, int count);
  void heredoc();
  void heredoc_lines(std::string_view anchor);

  cursor at_;
  language in_;
  steps& taken_;
};

} // namespace belay::hcl
