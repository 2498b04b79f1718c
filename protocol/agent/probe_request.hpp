#pragma once
// Validates HTTP requests of checks. A definition is sent verbatim to another server. So it must
// not be able to end a line of the request, and must fit the limits of the HTTP library.

#include "protocol/agent/definitions.hpp"

namespace belay::agent {

/// Limit of method, URL, header name or value, in bytes: Boost.Beast counts in 16 bits, and throws.
inline constexpr std::size_t request_part_bytes_max = std::size_t{64} << 10;
/// Limit of all names and values together: bytes. Servers reject more than a few KiB, Go's 1 MiB.
inline constexpr std::size_t request_header_bytes_max = std::size_t{1} << 20;

/// The error in method, URL or header of an HTTP check, or in the target of a gRPC check. nullopt:
/// there is none, or it is another kind of check.
std::optional<std::string> request_complaint_of(const check_definition& c);

/// @returns whether `c` may occur in a method or header name ("tchar" of RFC 9110, section 5.6.2).
bool is_token_character(char c);

} // namespace belay::agent
