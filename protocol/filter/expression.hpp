#pragma once
// A filter expression as a tree (the language of go-bexpr 0.1, docs/contract/07).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::filter {

/// `contains` is `in` with swapped operands and has no operator of its own.
enum class match_operator : std::uint8_t {
  equal = 0,
  not_equal = 1,
  in = 2,
  not_in = 3,
  is_empty = 4,
  is_not_empty = 5,
  matches = 6,
  not_matches = 7,
};

/// Name in error texts, such as `Not Equal`.
std::string_view name_of(match_operator op);
/// not_equal, not_in, is_not_empty, not_matches: true where the operator without "not" is false.
bool is_negative(match_operator op);
bool takes_value(match_operator op);

/// One comparison.
struct match {
  std::vector<std::string> selector; ///< never empty; the first part is an identifier
  match_operator op = match_operator::equal;
  std::string value; ///< without quotes, not converted yet; empty if the operator takes none

  bool operator==(const match&) const = default;
};

enum class node_kind : std::uint8_t { match, all, any, negation };

/// all (and), any (or): two or more parts, evaluated from the left. negation: one non-negated part.
struct expression {
  node_kind kind = node_kind::match;
  filter::match match;           ///< node_kind::match only
  std::vector<expression> parts; ///< all others

  bool operator==(const expression&) const = default;
};

/// With dots, as in error texts.
std::string to_string(const std::vector<std::string>& selector);
/// Text that parses to the same tree.
std::string to_string(const expression& e);

} // namespace belay::filter
