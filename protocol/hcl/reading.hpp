#pragma once
// Questions to a document: which items have a name, what a value says as a text, a number or a boolean, where it stands.

#include "protocol/base/result.hpp"
#include "protocol/hcl/document.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::hcl {

/// All items whose first name is `name`, without regard to the case of ASCII letters, in the order of the text. Pointers into `o`.
std::vector<const item*> find_all(const object& o, std::string_view name);
/// The last of them, which is the one that counts where one is wanted; nullptr if there is none.
const item* find(const object& o, std::string_view name);

/// `NAME "label" { ... }`, however it was written. Views into the document.
struct block {
  position at; ///< of the first name in this item
  std::string_view label;
  std::span<const std::string> more_labels; ///< behind the first; empty in any rule of a policy
  const value* is = nullptr;                ///< an object, if nobody made a mistake
};

/// All blocks of a name. These come out alike: `key "a" { ... }`, `key { "a" { ... } }`, `key = { a = { ... } }`, and their JSON, with an object
/// or a list of objects behind each name. As in hcl, blocks with their label behind the name come before those with it in braces.
/// An item that has no label is in none of them: see find_all() for `key = "a"`.
std::vector<block> blocks(const object& o, std::string_view name);

/// A text, or a whole number as it was written. The failure is for people, and does not name the value.
result<std::string> as_text(const value& v);
/// A whole number, or a text that is one: decimal, hexadecimal with 0x, octal with 0; with or without a sign. The failure reads
/// `strconv.ParseInt: parsing "08": invalid syntax` if a text or a number is none.
result<std::int64_t> as_integer(const value& v);
/// Any number. The failure reads `strconv.ParseFloat: parsing "1ex": invalid syntax` if it is none: hcl lets some through.
result<double> as_real(const value& v);
/// A boolean, or a text or a number that is true, false, 1 or 0, without regard to case. The failure is hcl's:
/// `decodeBool: Unknown value for boolean: "yes"`.
result<bool> as_boolean(const value& v);

/// FILE:LINE:COLUMN
std::string place(std::string_view file, const position& at);

} // namespace belay::hcl
