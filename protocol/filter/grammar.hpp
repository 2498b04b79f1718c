#pragma once
// From the text of a filter to its tree, with the error texts that clients of Consul see.

#include "protocol/base/result.hpp"
#include "protocol/filter/expression.hpp"

namespace belay::filter {

// Consul has no limits of its own here; these keep one request from holding up a node, and are far from what is written
// by hand. Evaluation costs a few tens of nanoseconds for each comparison and row.
constexpr std::size_t text_bytes_max = 64 * 1024;
constexpr std::size_t nesting_max = 64; ///< of parentheses
constexpr std::size_t comparisons_max = 1024;

/// Precedence: not, and, or. The failure is go-bexpr's text, such as `1:4 (3): no match found, expected: "in", ...`
/// (line, column, offset), or names the limit that was passed.
result<expression> parse(std::string_view text);

} // namespace belay::filter
