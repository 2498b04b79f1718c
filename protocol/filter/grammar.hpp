#pragma once
// Parses a filter's text to a tree, with the error texts that Consul's clients see.

#include "protocol/base/result.hpp"
#include "protocol/filter/expression.hpp"

namespace belay::filter {

// Consul has no limits here; these keep one request from blocking a node, far above anything
// written by hand. Evaluation costs a few tens of nanoseconds per comparison and row.
constexpr std::size_t text_bytes_max = 64 * 1024;
constexpr std::size_t nesting_max = 64; ///< limit for nested parentheses
constexpr std::size_t comparisons_max = 1024;

/// Precedence: not, and, or. The error is go-bexpr's text, such as `1:4 (3): no match
/// found, expected: "in", ...` (line, column, offset), or names the exceeded limit.
result<expression> parse(std::string_view text);

} // namespace belay::filter
