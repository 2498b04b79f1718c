#pragma once
// UUIDs (RFC 9562) of servers, sessions and events: their text
// form and its validation. The caller supplies the random bits.

#include <cstdint>
#include <string>
#include <string_view>

namespace belay {

inline constexpr std::size_t uuid_characters = 36;

/// Whether it has the form 8-4-4-4-12, hexadecimal digits in either case.
bool is_uuid(std::string_view text);

/// A version 4 UUID in lower case, from 122 of these 128 bits;
/// `high` is the first half. The same numbers give the same text.
std::string uuid_of(std::uint64_t high, std::uint64_t low);

} // namespace belay
