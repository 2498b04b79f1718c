#pragma once
// Queries on a document: items by name, values as text, number or boolean, positions.

#include "protocol/base/result.hpp"
#include "protocol/hcl/document.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::hcl {

/// All items whose first name is `name` (ASCII case ignored), in text order. Pointers into `o`.
std::vector<const item*> find_all(const object& o, std::string_view name);
/// The last of them, which counts where one is expected; nullptr if there is none.
const item* find(const object& o, std::string_view name);

/// `NAME "label" { ... }` in any notation. Views into the document.
struct block {
  position at; ///< location of the first name in this item
  std::string_view label;
  std::span<const std::string> more_labels; ///< after the first; empty in any rule of a policy
  const value* is = nullptr;                ///< an object, if the input is correct
};

/// All blocks with a name. `key "a" { ... }`, `key { "a" { ... } }`, `key = { a = { ... } }` and
/// their JSON forms (an object or list of objects per name) are equivalent. As in hcl, blocks
/// with the label after the name come first. Without a label, use find_all(): `key = "a"`.
std::vector<block> blocks(const object& o, std::string_view name);

/// A text, or a whole number as written. The error is for people, and does not contain the value.
result<std::string> as_text(const value& v);
/// A whole number, or a text with one: decimal, hexadecimal with 0x, octal with 0; with
/// or without a sign. The error is `strconv.ParseInt: parsing "08": invalid syntax`.
result<std::int64_t> as_integer(const value& v);
/// Any number. Error: `strconv.ParseFloat: parsing "1ex": invalid syntax` (hcl accepts some).
result<double> as_real(const value& v);
/// A boolean, or a text or a number that is true, false, 1 or 0, in any
/// case. The error is hcl's: `decodeBool: Unknown value for boolean: "yes"`.
result<bool> as_boolean(const value& v);

/// FILE:LINE:COLUMN
std::string location_text(std::string_view file, const position& at);

} // namespace belay::hcl
