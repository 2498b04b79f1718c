#pragma once
// Texts, numbers and booleans in filter expressions, parsed as in Go; errors are those of strconv.

#include "protocol/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace belay::filter {

/// A text with quotes: verbatim in backquotes, with Go's escapes in double quotes.
result<std::string> unquote(std::string_view quoted);
/// Decimal, or with prefix 0x, 0o, 0b or 0; digits may be separated by underscores.
result<std::int64_t> read_integer(std::string_view text);
result<std::uint64_t> read_natural(std::string_view text);
/// 1 t T true TRUE True, 0 f F false FALSE False.
result<bool> read_boolean(std::string_view text);

} // namespace belay::filter
