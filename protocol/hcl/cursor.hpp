#pragma once
// The characters of a text, with lines and columns, and the last error. hcl
// continues after an invalid character, and reports only the last of its errors.

#include "protocol/go_compat/regular_expression.hpp"
#include "protocol/hcl/parser.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace belay::hcl {

enum class language : std::uint8_t { hcl, json };

class cursor {
public:
  /// Returned by next() and peek() after the last character, and for a character with code 0.
  static constexpr char32_t end = 0;
  /// Replaces invalid bytes of UTF-8.
  static constexpr char32_t broken = 0xFFFD;

  /// `taken` outlives the cursor.
  cursor(std::string_view text, language in, steps& taken) : text_(text), in_(in), taken_(taken) {}

  char32_t next();
  char32_t peek();
  /// Undoes the last next(); no effect at the end of the text. Call it at most once after each
  /// next().
  void back();

  /// Offsets after and before the character that next() returned last, in bytes.
  std::size_t offset() const { return here_.offset; }
  std::size_t start() const { return here_.offset - length_; }
  std::string_view since(std::size_t from) const { return text_.substr(from, here_.offset - from); }
  /// Position of the character that next() returned last. At the end, each next() adds a column.
  position at() const;

  void complain(std::string what);
  const std::optional<error>& complaint() const { return complaint_; }
  /// Counts characters that were examined by others.
  void charge(std::size_t characters) { taken_.characters += characters; }

  bool is_letter(char32_t c);
  bool is_digit(char32_t c);

private:
  struct character_at {
    std::size_t offset = 0;
    std::uint32_t line = 1;
    std::uint32_t column = 0; ///< 0 after a line feed
  };
  struct unicode_classes {
    go_compat::regular_expression letter, digit;
  };

  /// The character at the front of the rest; 0 bytes at the end of the text.
  char32_t front(std::size_t& bytes) const;
  const unicode_classes& unicode();

  std::string_view text_;
  language in_;
  steps& taken_;
  character_at here_, before_;
  std::size_t length_ = 0;        ///< length of the last character, in bytes
  std::uint32_t line_length_ = 0; ///< length of the last line, in characters
  std::optional<error> complaint_;
  std::optional<unicode_classes> unicode_; ///< created for the first letter that is not ASCII
};

} // namespace belay::hcl
