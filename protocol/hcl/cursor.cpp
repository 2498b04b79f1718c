#include "protocol/hcl/cursor.hpp"

#include "protocol/base/check.hpp"
#include "protocol/go_compat/quoting.hpp"

namespace belay::hcl {

char32_t cursor::front(std::size_t& bytes) const {
  bytes = 0;
  const auto rest = text_.substr(here_.offset);
  if (rest.empty())
    return end;
  std::uint32_t code_point = 0;
  bytes = go_compat::utf8_character(rest, code_point);
  if (bytes > 0)
    return code_point;
  bytes = 1;
  return broken;
}

char32_t cursor::next() {
  ++taken_.characters;
  const char32_t c = front(length_);
  if (length_ == 0) {
    ++here_.column;
    return end;
  }
  before_ = here_;
  here_.offset += length_;
  ++here_.column;
  if (c == broken && length_ == 1)
    complain("illegal UTF-8 encoding");
  if (c == U'\n') {
    ++here_.line;
    line_length_ = here_.column;
    here_.column = 0;
  }
  if (in_ == language::hcl && c == 0)
    complain("unexpected null character (0x00)");
  if (in_ == language::hcl && c == 0xE123) {
    complain("unicode code point U+E123 reserved for internal use");
    return broken;
  }
  return c;
}

char32_t cursor::peek() {
  ++taken_.characters;
  std::size_t bytes = 0;
  return front(bytes);
}

void cursor::back() {
  if (length_ > 0)
    here_ = before_;
}

position cursor::at() const {
  // A line feed belongs to the line that it ends.
  return here_.column > 0 ? position{here_.line, here_.column} : position{here_.line - 1, line_length_};
}

void cursor::complain(std::string what) {
  complaint_ = error{at(), std::move(what), in_ == language::hcl ? error::placed::after_at : error::placed::plain};
}

namespace {

std::string utf8(char32_t c) {
  std::string out;
  go_compat::append_utf8(out, c);
  return out;
}

} // namespace

const cursor::unicode_classes& cursor::unicode() {
  if (!unicode_) {
    auto letter = go_compat::regular_expression::compile("\\p{L}");
    auto digit = go_compat::regular_expression::compile("\\p{Nd}");
    INVARIANT(letter.ok());
    INVARIANT(digit.ok());
    unicode_.emplace(unicode_classes{std::move(letter).value(), std::move(digit).value()});
  }
  return *unicode_;
}

bool cursor::is_letter(char32_t c) {
  if (c < 0x80)
    return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z') || c == U'_';
  return c != broken && unicode().letter.matches(utf8(c));
}

bool cursor::is_digit(char32_t c) {
  if (c < 0x80)
    return c >= U'0' && c <= U'9';
  return c != broken && unicode().digit.matches(utf8(c));
}

} // namespace belay::hcl
