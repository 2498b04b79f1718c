#pragma once
// The content of a text in HCL 1 (or JSON), before it is interpreted: objects of items in the
// order of the text, with positions. Source of policies' rules and of configuration files.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace belay::hcl {

/// Both count from 1; a column is a character (a code point of UTF-8), as Consul counts.
struct position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

struct item;

struct object {
  std::vector<item> items;
};

/// A number as written, such as 10, 0x1f, 1.5e3.
struct number {
  std::string text;
  bool is_integer = true;
};

struct value;
using list = std::vector<value>;

struct value {
  position at;
  /// No JSON null: the parser omits items with value null.
  std::variant<std::string, number, bool, list, object> is;
};

/// `name = value`, `name { ... }`, or `name "label" ... { ... }`.
struct item {
  position at;                   ///< location of the first name
  std::vector<std::string> keys; ///< the name, then labels; never empty
  value is;
};

} // namespace belay::hcl
