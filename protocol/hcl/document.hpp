#pragma once
// What a text in HCL 1 (or JSON) says, before anybody asks what it means: objects of items in the order of the text, each
// with its place. Rules of policies and configuration files are read from it.

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

/// A number as it was written, such as 10, 0x1f, 1.5e3.
struct number {
  std::string text;
  bool is_integer = true;
};

struct value;
using list = std::vector<value>;

struct value {
  position at;
  /// JSON's null is nothing here: an item whose value is null is left out by the parser.
  std::variant<std::string, number, bool, list, object> is;
};

/// `name = value`, `name { ... }`, or `name "label" ... { ... }`.
struct item {
  position at;                   ///< of the first name
  std::vector<std::string> keys; ///< the name, then labels; never empty
  value is;
};

} // namespace belay::hcl
