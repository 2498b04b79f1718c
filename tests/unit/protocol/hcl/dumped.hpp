#pragma once
// A document as one line, for tables: `"key" "a" {"policy" "read"}; "n" [1, f1.5, true]`.

#include "protocol/base/hex.hpp"
#include "protocol/base/overloaded.hpp"
#include "protocol/hcl/parser.hpp"

#include <string>
#include <string_view>

namespace belay::hcl::tests {

enum class locations : bool { left_out, shown };

/// Escapes as \xHH what is not printable ASCII, quotes and backslashes.
inline std::string dumped(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c >= 0x20 && c < 0x7F && c != '"' && c != '\\') {
      out += c;
    } else {
      out += "\\x";
      append_hex(out, static_cast<unsigned char>(c), 2);
    }
  }
  return out += '"';
}

inline std::string dumped(const position& at, locations p) {
  return p == locations::left_out ? "" : "@" + std::to_string(at.line) + ":" + std::to_string(at.column) + " ";
}

inline std::string dumped(const object& o, locations p);

inline std::string dumped(const value& v, locations p) {
  return dumped(v.at, p) + std::visit(overloaded{
                                          [](const std::string& text) { return dumped(text); },
                                          [](const number& n) { return (n.is_integer ? "" : "f") + n.text; },
                                          [](bool b) { return std::string(b ? "true" : "false"); },
                                          [p](const list& l) {
                                            std::string out = "[";
                                            for (const auto& each : l)
                                              (out += out.size() > 1 ? ", " : "") += dumped(each, p);
                                            return out += ']';
                                          },
                                          [p](const object& o) { return '{' + dumped(o, p) + '}'; },
                                      },
                                      v.is);
}

inline std::string dumped(const object& o, locations p) {
  std::string out;
  for (const auto& each : o.items) {
    (out += out.empty() ? "" : "; ") += dumped(each.at, p);
    for (const auto& key : each.keys)
      (out += dumped(key)) += ' ';
    out += dumped(each.is, p);
  }
  return out;
}

/// The document, or an exclamation mark and the error as Consul shows it.
inline std::string parsed(std::string_view text, locations p = locations::left_out, const limits& allowed = {}) {
  const auto result = parse(text, allowed);
  const auto* found = std::get_if<object>(&result);
  return found != nullptr ? dumped(*found, p) : "! " + shown(std::get<error>(result));
}

} // namespace belay::hcl::tests
