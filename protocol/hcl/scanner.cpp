#include "protocol/hcl/scanner.hpp"

#include "protocol/base/hex.hpp"
#include "protocol/go_compat/quoting.hpp"

#include <algorithm>

namespace belay::hcl {

namespace {

constexpr auto end = cursor::end;

bool is_decimal(char32_t c) {
  return c >= U'0' && c <= U'9';
}

bool is_white_space(char32_t c) {
  return c == U' ' || c == U'\t' || c == U'\n' || c == U'\r';
}

/// Larger than any base if it is not a digit.
int digit_value(char32_t c) {
  const int value = c < 0x80 ? hex_value(static_cast<char>(c)) : -1;
  return value < 0 ? 16 : value;
}

/// Go's [[:space:]]
bool is_posix_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// The last line of a heredoc: white space, anchor, carriage returns. The anchor may end in one.
bool ends_heredoc(std::string_view line, std::string_view anchor) {
  const bool with_return = !anchor.empty() && anchor.back() == '\r';
  if (with_return)
    anchor.remove_suffix(1);
  const auto before_returns = line.find_last_not_of('\r') + 1; // 0 if there is nothing else
  if (with_return && before_returns == line.size())
    return false;
  line = line.substr(0, before_returns);
  if (line.size() < anchor.size() || line.substr(line.size() - anchor.size()) != anchor)
    return false;
  line.remove_suffix(anchor.size());
  return std::all_of(line.begin(), line.end(), is_posix_space);
}

} // namespace

token scanner::next() {
  token t;
  do {
    ++taken_.tokens;
    t = next_or_comment();
  } while (t.kind == token_kind::comment);
  return t;
}

token scanner::next_or_comment() {
  char32_t c = at_.next();
  while (is_white_space(c))
    c = at_.next();
  const auto start = at_.start();
  token t;
  t.at = at_.at();
  t.kind = kind_of(c, start);
  t.text = at_.since(start);
  return t;
}

token_kind scanner::kind_of(char32_t first, std::size_t start) {
  if (at_.is_letter(first))
    return word(start);
  if (is_decimal(first))
    return number(first);
  switch (first) {
  case end:
    return token_kind::eof;
  case U'"':
    string();
    return token_kind::string;
  case U'.':
    return period();
  case U'[':
    return token_kind::lbrack;
  case U']':
    return token_kind::rbrack;
  case U'{':
    return token_kind::lbrace;
  case U'}':
    return token_kind::rbrace;
  case U',':
    return token_kind::comma;
  case U'-':
    if (is_decimal(at_.peek()))
      return number(at_.next());
    [[fallthrough]];
  default:
    return in_ == language::hcl ? sign_of_hcl(first) : sign_of_json(first);
  }
}

token_kind scanner::sign_of_hcl(char32_t first) {
  switch (first) {
  case U'#':
  case U'/':
    comment(first);
    return token_kind::comment;
  case U'<':
    heredoc();
    return token_kind::heredoc;
  case U'=':
    return token_kind::assign;
  case U'+':
    return token_kind::add;
  case U'-':
    return token_kind::sub;
  default:
    at_.complain("illegal char");
    return token_kind::illegal;
  }
}

token_kind scanner::sign_of_json(char32_t first) {
  if (first == U':')
    return token_kind::colon;
  std::string what = "illegal char";
  if (first != U'-') {
    what += ": ";
    go_compat::append_utf8(what, first);
  }
  at_.complain(std::move(what));
  return token_kind::illegal;
}

token_kind scanner::word(std::size_t start) {
  char32_t c = at_.next();
  while (at_.is_letter(c) || at_.is_digit(c) || c == U'-' || (c == U'.' && in_ == language::hcl))
    c = at_.next();
  if (c != end)
    at_.back();
  const auto text = at_.since(start);
  if (text == "true" || text == "false")
    return token_kind::boolean;
  if (in_ == language::hcl)
    return token_kind::ident;
  if (text == "null")
    return token_kind::null;
  at_.complain("illegal char");
  return token_kind::illegal;
}

void scanner::comment(char32_t first) {
  if (first == U'#' || at_.peek() != U'*') {
    if (first == U'/' && at_.peek() != U'/')
      return at_.complain("expected '/' for comment");
    char32_t c = at_.next();
    while (c != U'\n' && c != end)
      c = at_.next();
    if (c != end)
      at_.back();
    return;
  }
  at_.next();
  char32_t before = at_.next();
  while (before != end) {
    const char32_t c = at_.next();
    if (before == U'*' && c == U'/')
      return;
    before = c;
  }
  at_.complain("comment not terminated");
}

// ---- numbers

token_kind scanner::number(char32_t first) {
  if (in_ == language::json)
    return number_of_json(first);
  if (first == U'0')
    return number_from_zero();
  digits(first);
  const char32_t c = at_.next();
  bool found = false;
  const auto kind = fraction_or_exponent(c, found);
  if (!found && c != end)
    at_.back();
  return kind;
}

token_kind scanner::number_of_json(char32_t first) {
  const auto before = at_.at();
  digits(first);
  const char32_t c = at_.next();
  bool found = false;
  const auto kind = fraction_or_exponent(c, found);
  if (found)
    return kind;
  if (c != end)
    at_.back();
  // hcl also rejects a zero as the very last character of the text; no JSON ends so.
  if (first == U'0' && at_.at().column != before.column)
    at_.complain("numbers cannot start with 0");
  return token_kind::number;
}

/// Hexadecimal, octal, or a fraction.
token_kind scanner::number_from_zero() {
  char32_t c = at_.next();
  if (c == U'x' || c == U'X') {
    c = at_.next();
    const bool found = digit_value(c) < 16;
    while (digit_value(c) < 16)
      c = at_.next();
    if (!found)
      at_.complain("illegal hexadecimal number");
    if (c != end)
      at_.back();
    return token_kind::number;
  }
  // hcl does not check the first digit after the zero: 08 passes, and fails when it is read.
  bool illegal_octal = false;
  while (is_decimal(c)) {
    c = at_.next();
    illegal_octal = illegal_octal || c == U'8' || c == U'9';
  }
  bool found = false;
  const auto kind = fraction_or_exponent(c, found);
  if (found)
    return kind;
  if (illegal_octal)
    at_.complain("illegal octal number");
  if (c != end)
    at_.back();
  return token_kind::number;
}

/// What may follow the digits; `c` is the character after them, already read.
token_kind scanner::fraction_or_exponent(char32_t c, bool& found) {
  found = c == U'.' || c == U'e' || c == U'E';
  if (!found)
    return token_kind::number;
  if (c == U'.') {
    c = at_.peek();
    if (is_decimal(c))
      c = digits(c);
    if (c == U'e' || c == U'E')
      at_.next();
  }
  if (c == U'e' || c == U'E')
    exponent();
  return token_kind::floating;
}

/// A separate sign, or the front of a fraction; its exponent's digits are another token, as in hcl.
token_kind scanner::period() {
  const char32_t first = at_.peek();
  if (!is_decimal(first))
    return token_kind::period;
  const char32_t behind = digits(first);
  if (behind == U'e' || behind == U'E')
    at_.next();
  return token_kind::floating;
}

/// All digits from here on; `first` is the first of them, and was read or is next.
/// @returns the character after them, which is next unless it is the end or code 0
char32_t scanner::digits(char32_t first) {
  char32_t c = first;
  while (is_decimal(c))
    c = at_.next();
  if (c != end)
    at_.back();
  return c;
}

/// Scans what follows the `e`. Consumes the character in place of the first digit, whatever it is.
void scanner::exponent() {
  char32_t c = at_.next();
  if (c == U'-' || c == U'+')
    c = at_.next();
  if (is_decimal(c))
    digits(c);
}

// ---- texts

void scanner::string() {
  // Quotes and line feeds inside ${...} do not end a text of HCL.
  int braces = 0;
  while (true) {
    const char32_t c = at_.next();
    if (c == end || (c == U'\n' && braces == 0))
      return at_.complain("literal not terminated");
    if (c == U'"' && braces == 0)
      return;
    if (c == U'\\') {
      escape();
    } else if (in_ == language::json) {
      continue;
    } else if (braces == 0 && c == U'$' && at_.peek() == U'{') {
      at_.next();
      ++braces;
    } else if (braces > 0 && c == U'{') {
      ++braces;
    } else if (braces > 0 && c == U'}') {
      --braces;
    }
  }
}

void scanner::escape() {
  const char32_t c = at_.next();
  switch (c) {
  case U'a':
  case U'b':
  case U'f':
  case U'n':
  case U'r':
  case U't':
  case U'v':
  case U'\\':
  case U'"':
    return;
  case U'x':
    return escape_digits(at_.next(), 16, 2);
  case U'u':
    return escape_digits(at_.next(), 16, 4);
  case U'U':
    return escape_digits(at_.next(), 16, 8);
  default:
    if (digit_value(c) < 8)
      return escape_digits(c, 8, 3);
    at_.complain("illegal char escape");
  }
}

void scanner::escape_digits(char32_t first, int base, int count) {
  char32_t c = first;
  int left = count;
  while (left > 0 && digit_value(c) < base) {
    c = at_.next();
    if (c == end && in_ == language::hcl)
      break;
    --left;
  }
  if (left > 0)
    at_.complain("illegal char escape");
  // In HCL the character in place of the first digit is consumed, in JSON it is read again.
  if (in_ == language::json || (left != count && c != end))
    at_.back();
}

void scanner::heredoc() {
  if (at_.next() != U'<')
    return at_.complain("heredoc expected second '<', didn't see it");
  const auto start = at_.offset();
  char32_t c = at_.next();
  if (c == U'-')
    c = at_.next();
  while (at_.is_letter(c) || at_.is_digit(c))
    c = at_.next();
  if (c == end)
    return at_.complain("heredoc not terminated");
  if (c == U'\r' && at_.peek() == U'\n')
    c = at_.next();
  if (c != U'\n')
    return at_.complain("invalid characters in heredoc anchor");
  auto anchor = at_.since(start);
  anchor.remove_suffix(1);
  if (anchor.empty() || anchor == "-")
    return at_.complain("zero-length heredoc anchor");
  heredoc_lines(anchor);
}

void scanner::heredoc_lines(std::string_view anchor) {
  // The dash counts: the last line of <<-EOF is indented by at least one character.
  const auto line_bytes_min = anchor.size();
  if (anchor.front() == '-')
    anchor.remove_prefix(1);
  auto line_start = at_.offset();
  while (true) {
    const char32_t c = at_.next();
    if (c == end)
      return at_.complain("heredoc not terminated");
    if (c != U'\n')
      continue;
    auto line = at_.since(line_start);
    line.remove_suffix(1);
    at_.charge(line.size());
    if (line.size() >= line_bytes_min && ends_heredoc(line, anchor))
      return;
    line_start = at_.offset();
  }
}

} // namespace belay::hcl
