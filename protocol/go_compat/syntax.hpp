#pragma once
// Numbers and booleans with rules and error texts of Go's strconv, which Consul's clients match.

#include "protocol/base/ascii_case.hpp"
#include "protocol/base/result.hpp"
#include "protocol/go_compat/quoting.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::go_compat {

/// Decimal without sign. The error is `strconv.ParseUint: parsing "abc": invalid syntax`.
result<std::uint64_t> read_uint(std::string_view text);
/// The same, if the error text is not needed.
std::optional<std::uint64_t> parse_uint(std::string_view text);
/// Decimal with optional minus, in 64 bits.
std::optional<std::int64_t> parse_int(std::string_view text);
/// 1 t T true TRUE True, 0 f F false FALSE False.
std::optional<bool> parse_bool(std::string_view text);

/// `strconv.ParseInt: parsing "abc": invalid syntax`, for a function of strconv.
failure invalid_syntax(std::string_view function, std::string_view text);
/// `strconv.ParseInt: parsing "99999999999999999999": value out of range`.
failure out_of_range(std::string_view function, std::string_view text);

using belay::equal_ignoring_case;
using belay::lower_case;

} // namespace belay::go_compat
