#include "protocol/go_compat/quoting.hpp"

#include "protocol/base/hex.hpp"

namespace belay::go_compat {

bool append_short_escape(std::string& out, char c) {
  constexpr std::string_view escaped = "\"\\\n\r\t", letters = "\"\\nrt";
  const auto known = escaped.find(c);
  if (known == std::string_view::npos)
    return false;
  (out += '\\') += letters[known];
  return true;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text.front();
    std::uint32_t code_point = 0;
    const auto length = utf8_character(text, code_point);
    if (length == 0) {
      out += "\\x";
      append_hex(out, static_cast<unsigned char>(c), 2);
      text.remove_prefix(1);
      continue;
    }
    if (append_short_escape(out, c)) {
      text.remove_prefix(1);
      continue;
    }
    constexpr std::string_view escaped = "\a\b\f\v", letters = "abfv"; // those that JSON does not have, or not all of
    if (const auto known = escaped.find(c); known != std::string_view::npos)
      (out += '\\') += letters[known];
    else if (code_point < 0x20 || code_point == 0x7F) {
      out += "\\x";
      append_hex(out, code_point, 2);
    } else if (code_point >= 0x80 && code_point <= 0xA0) {
      out += "\\u";
      append_hex(out, code_point, 4);
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  return out += '"';
}

std::string quoted_byte(char c) {
  if (c == '\'')
    return "'\\''";
  if (c == '"')
    return "'\"'";
  std::string character;
  append_utf8(character, static_cast<unsigned char>(c));
  const auto text = quoted(character);
  return "'" + text.substr(1, text.size() - 2) + "'";
}

std::size_t utf8_character(std::string_view text, std::uint32_t& code_point) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const auto first = byte(0);
  if (first < 0x80) {
    code_point = first;
    return 1;
  }
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length)
    return 0;
  std::uint32_t value = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80)
      return 0;
    value = (value << 6) | (byte(i) & 0x3F);
  }
  // An overlong form, a surrogate, or beyond the last character (Unicode 15, table 3-7).
  if ((length == 3 && value < 0x800) || (length == 4 && value < 0x10000) || value > 0x10FFFF ||
      (value >= 0xD800 && value <= 0xDFFF))
    return 0;
  code_point = value;
  return length;
}

void append_utf8(std::string& out, std::uint32_t code_point) {
  const auto last_six = [&](int shift) { return static_cast<char>(0x80 | ((code_point >> shift) & 0x3F)); };
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xC0 | (code_point >> 6));
    out += last_six(0);
  } else if (code_point < 0x10000) {
    out += static_cast<char>(0xE0 | (code_point >> 12));
    (out += last_six(6)) += last_six(0);
  } else {
    out += static_cast<char>(0xF0 | (code_point >> 18));
    ((out += last_six(12)) += last_six(6)) += last_six(0);
  }
}

} // namespace belay::go_compat
