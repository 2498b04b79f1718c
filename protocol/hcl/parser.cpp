#include "protocol/hcl/parser.hpp"

#include "protocol/base/check.hpp"
#include "protocol/go_compat/quoting.hpp"
#include "protocol/hcl/grammar.hpp"

namespace belay::hcl {

namespace {

/// Unicode's property White_Space, as Go's unicode.IsSpace.
bool is_unicode_space(std::uint32_t c) {
  switch (c) {
  case ' ':
  case 0x85:
  case 0xA0:
  case 0x1680:
  case 0x2028:
  case 0x2029:
  case 0x202F:
  case 0x205F:
  case 0x3000:
    return true;
  default:
    return (c >= '\t' && c <= '\r') || (c >= 0x2000 && c <= 0x200A);
  }
}

language language_of(std::string_view text) {
  while (!text.empty()) {
    std::uint32_t c = 0;
    const auto bytes = go_compat::utf8_character(text, c);
    if (bytes == 0)
      break;
    if (!is_unicode_space(c))
      return c == '{' ? language::json : language::hcl;
    text.remove_prefix(bytes);
  }
  return language::hcl;
}

std::string with_line_feeds(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text.substr(i, 2) != "\r\n")
      out += text[i];
  return out;
}

} // namespace

std::string shown(const error& e) {
  switch (e.how) {
  case error::placed::after_at:
    return "At " + to_string(e.at) + ": " + e.text;
  case error::placed::plain:
    return to_string(e.at) + ": " + e.text;
  case error::placed::left_out:
    break;
  }
  return e.text;
}

std::variant<object, error> parse(std::string_view text, const limits& allowed, steps* taken) {
  PRECONDITION(allowed.nesting_max <= 1000);
  if (text.size() > allowed.text_bytes_max)
    return error{{1, 1},
                 "text of " + std::to_string(text.size()) + " bytes is larger than " +
                     std::to_string(allowed.text_bytes_max) + " bytes"};
  steps uncounted;
  auto& count = taken == nullptr ? uncounted : *taken;
  if (language_of(text) == language::json)
    return parse_json(text, allowed, count);
  return parse_hcl(with_line_feeds(text), allowed, count);
}

} // namespace belay::hcl
