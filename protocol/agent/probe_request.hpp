#pragma once
// Which HTTP requests a check may make. What stands in a definition goes out to another server byte by byte, so it must not be able
// to end a line of the request, and must fit into what the library that writes it can hold.

#include "protocol/agent/definitions.hpp"

namespace belay::agent {

/// Method, URL, and name or value of a header field are shorter than this: bytes. Boost.Beast counts them in 16 bits, and throws.
inline constexpr std::size_t request_part_bytes_max = std::size_t{64} << 10;
/// All names and values together: bytes. Servers refuse more than a few KiB, Go's from 1 MiB.
inline constexpr std::size_t request_header_bytes_max = std::size_t{1} << 20;

/// What is wrong with method, URL and header of an HTTP check, or the target of a gRPC check, in one sentence; nullopt: nothing, or it is
/// neither.
std::optional<std::string> request_complaint_of(const check_definition& c);

/// @returns whether `c` may stand in a method or in the name of a header field (a "tchar" of RFC 9110, section 5.6.2).
bool is_token_character(char c);

} // namespace belay::agent
