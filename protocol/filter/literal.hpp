#pragma once
// Texts, numbers and booleans in filter expressions, as Go reads them; failures are the texts of its strconv.

#include "protocol/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace belay::filter {

/// A text with its quotes: between backquotes as it stands, between double quotes with Go's escapes.
result<std::string> unquote(std::string_view quoted);
/// Decimal, or by its prefix 0x, 0o, 0b or 0; digits may be separated by underscores.
result<std::int64_t> read_integer(std::string_view text);
result<std::uint64_t> read_natural(std::string_view text);
/// 1 t T true TRUE True, 0 f F false FALSE False.
result<bool> read_boolean(std::string_view text);

} // namespace belay::filter
