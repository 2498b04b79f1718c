#pragma once
// Numbers, booleans and quoting with the rules and error texts of Go's strconv, which clients of Consul see and match.

#include "protocol/base/result.hpp"
#include "protocol/golang/quoting.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::golang {

/// Decimal without sign. The failure reads `strconv.ParseUint: parsing "abc": invalid syntax`.
result<std::uint64_t> read_uint(std::string_view text);
/// The same where nobody sees the text.
std::optional<std::uint64_t> parse_uint(std::string_view text);
/// 1 t T true TRUE True, 0 f F false FALSE False.
std::optional<bool> parse_bool(std::string_view text);

/// ASCII only, which is what names of headers and JSON members are.
bool equal_ignoring_case(std::string_view a, std::string_view b);
std::string lower_case(std::string_view text);

} // namespace belay::golang
