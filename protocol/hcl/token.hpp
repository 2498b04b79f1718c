#pragma once
// The tokens of HCL and its JSON, and their names in errors.

#include "protocol/hcl/document.hpp"

#include <string>
#include <string_view>

namespace belay::hcl {

enum class token_kind : std::uint8_t {
  illegal,
  eof,
  comment,
  ident,
  number,
  floating,
  boolean,
  string,
  heredoc,
  null, ///< JSON only
  lbrack,
  lbrace,
  comma,
  period,
  colon, ///< JSON only
  rbrack,
  rbrace,
  assign,
  add,
  sub,
};

/// RBRACE, for example.
constexpr std::string_view name(token_kind kind) {
  constexpr std::string_view names[] = {"ILLEGAL", "EOF",     "COMMENT", "IDENT",  "NUMBER", "FLOAT", "BOOL",
                                        "STRING",  "HEREDOC", "NULL",    "LBRACK", "LBRACE", "COMMA", "PERIOD",
                                        "COLON",   "RBRACK",  "RBRACE",  "ASSIGN", "ADD",    "SUB"};
  return names[static_cast<std::size_t>(kind)];
}

struct token {
  token_kind kind = token_kind::illegal;
  position at;
  std::string_view text; ///< as written, with its quotes
};

inline std::string to_string(const position& at) {
  return std::to_string(at.line) + ':' + std::to_string(at.column);
}

/// `1:5 RBRACE }`
inline std::string to_string(const token& t) {
  return to_string(t.at) + ' ' + std::string(name(t.kind)) + ' ' + std::string(t.text);
}

} // namespace belay::hcl
