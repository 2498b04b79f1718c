#include "protocol/go_compat/json_output.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/hex.hpp"
#include "protocol/go_compat/pretty_json.hpp"
#include "protocol/go_compat/quoting.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>

#include <array>
#include <charconv>
#include <cmath>

namespace belay::go_compat {

namespace {

/// Bytes that need no escape inside a string.
constexpr std::array<bool, 256> plain_bytes = [] {
  std::array<bool, 256> plain{};
  for (std::size_t b = 0x20; b < 0x80; ++b)
    plain[b] = b != '"' && b != '\\' && b != '<' && b != '>' && b != '&';
  return plain;
}();

/// Appends one character, escaped if needed. @returns its bytes.
std::size_t append_character(std::string& out, std::string_view text) {
  std::uint32_t c = 0;
  const auto length = utf8_character(text, c);
  if (length == 0) {
    out += "\\ufffd";
    return 1;
  }
  if (append_short_escape(out, text.front()))
    return length;
  if (c < 0x20 || c == '<' || c == '>' || c == '&' || c == 0x2028 || c == 0x2029) {
    out += "\\u";
    append_hex(out, c, 4);
  } else {
    out.append(text.substr(0, length));
  }
  return length;
}

} // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    auto end = i;
    while (end < text.size() && plain_bytes[static_cast<unsigned char>(text[end])])
      ++end;
    out.append(text.substr(i, end - i));
    i = end;
    if (i < text.size())
      i += append_character(out, text.substr(i));
  }
  out += '"';
}

void append_json_name(std::string& out, std::string_view name) {
  if (out.back() != '{')
    out += ',';
  append_json_string(out, name);
  out += ':';
}

void append_json_member(std::string& out, std::string_view name, std::string_view value) {
  append_json_name(out, name);
  append_json_string(out, value);
}

std::string prettify_json(std::string_view compact) {
  std::string out;
  out.reserve(compact.size() * 2);
  pretty_json{}.append(out, compact);
  return out += '\n';
}

/// Go's encoding/json, floatEncoder.
void append_float(std::string& out, double value) {
  PRECONDITION(std::isfinite(value));
  const double size = std::abs(value);
  const bool plain = size == 0 || (size >= 1e-6 && size < 1e21);
  char digits[64]; // the longest plain one has 23 digits: 1.0000000000000001e-06
  const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  const auto end = std::to_chars(digits, digits + sizeof digits, value, format).ptr;
  std::string text(digits, end);
  if (const auto e = text.find("e-0"); e != text.npos)
    text.erase(e + 2, 1);
  out += text;
}

void append_json_strings(std::string& out, const std::vector<std::string>& list) {
  out += '[';
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i != 0)
      out += ',';
    append_json_string(out, list[i]);
  }
  out += ']';
}

void append_json_strings(std::string& out, const std::optional<std::vector<std::string>>& list) {
  if (list)
    append_json_strings(out, *list);
  else
    out += "null";
}

void append_json_map(std::string& out, const std::optional<std::map<std::string, std::string>>& map) {
  if (!map) {
    out += "null";
    return;
  }
  out += '{';
  bool first = true;
  for (const auto& [name, value] : *map) {
    if (!first)
      out += ',';
    first = false;
    append_json_string(out, name);
    out += ':';
    append_json_string(out, value);
  }
  out += '}';
}

void append_json_value(std::string& out, const boost::json::value& value) {
  if (const auto* text = value.if_string()) {
    append_json_string(out, {text->data(), text->size()});
  } else if (const auto* list = value.if_array()) {
    out += '[';
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (i != 0)
        out += ',';
      append_json_value(out, (*list)[i]);
    }
    out += ']';
  } else if (const auto* object = value.if_object()) {
    out += '{';
    bool first = true;
    for (const auto& member : *object) {
      if (!first)
        out += ',';
      first = false;
      append_json_string(out, {member.key().data(), member.key().size()});
      out += ':';
      append_json_value(out, member.value());
    }
    out += '}';
  } else
    out += boost::json::serialize(value);
}

} // namespace belay::go_compat
