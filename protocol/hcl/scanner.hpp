#pragma once
// Splits characters into tokens. Records an error for invalid ones, and continues after them.

#include "protocol/hcl/cursor.hpp"
#include "protocol/hcl/token.hpp"

namespace belay::hcl {

class scanner {
public:
  /// `taken` outlives the scanner, and the text its tokens.
  scanner(std::string_view text, language in, steps& taken) : at_(text, in, taken), in_(in), taken_(taken) {}

  /// Skips comments. After the last token returns eof, any number of times.
  token next();

  /// The last error. The parser continues until the grammar stops, and then prefers this error.
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
