#include "protocol/go_compat/regular_expression.hpp"

#include <re2/re2.h>

namespace belay::go_compat {

namespace {

/// The error texts of Go's regexp/syntax.
std::string_view go_words(re2::RE2::ErrorCode code) {
  using re2::RE2;
  switch (code) {
  case RE2::ErrorBadEscape:
    return "invalid escape sequence";
  case RE2::ErrorBadCharClass:
    return "invalid character class";
  case RE2::ErrorBadCharRange:
    return "invalid character class range";
  case RE2::ErrorMissingBracket:
    return "missing closing ]";
  case RE2::ErrorMissingParen:
    return "missing closing )";
  case RE2::ErrorUnexpectedParen:
    return "unexpected )";
  case RE2::ErrorTrailingBackslash:
    return "trailing backslash at end of expression";
  case RE2::ErrorRepeatArgument:
    return "missing argument to repetition operator";
  case RE2::ErrorRepeatSize:
    return "invalid repeat count";
  case RE2::ErrorRepeatOp:
    return "invalid nested repetition operator";
  case RE2::ErrorBadPerlOp:
    return "invalid or unsupported Perl syntax";
  case RE2::ErrorBadUTF8:
    return "invalid UTF-8";
  case RE2::ErrorBadNamedCapture:
    return "invalid named capture";
  case RE2::ErrorPatternTooLarge:
    return "expression too large";
  case RE2::NoError:
  case RE2::ErrorInternal:
    break;
  }
  return "regexp/syntax: internal error";
}

} // namespace

regular_expression::regular_expression(std::unique_ptr<re2::RE2> compiled) : compiled_(std::move(compiled)) {}
regular_expression::regular_expression(regular_expression&&) noexcept = default;
regular_expression& regular_expression::operator=(regular_expression&&) noexcept = default;
regular_expression::~regular_expression() = default;

result<regular_expression> regular_expression::compile(const std::string& text) {
  if (text.size() > text_bytes_max)
    return failure{"expression is longer than " + std::to_string(text_bytes_max) + " bytes"};
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(static_cast<std::int64_t>(memory_bytes_max));
  auto compiled = std::make_unique<re2::RE2>(text, options);
  if (!compiled->ok())
    return failure{std::string(go_words(compiled->error_code())) + ": `" + compiled->error_arg() + "`"};
  return regular_expression(std::move(compiled));
}

bool regular_expression::matches(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled_);
}

} // namespace belay::go_compat
