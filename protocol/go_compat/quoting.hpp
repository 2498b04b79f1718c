#pragma once
// Texts in quotes as Go's %q prints them, which Consul's clients see in error
// texts; and common parts of quoting: one-letter escapes and UTF-8 characters.

#include <cstdint>
#include <string>
#include <string_view>

namespace belay::go_compat {

/// Quotes and escapes the text, like Go's %q.
std::string quoted(std::string_view text);

/// A byte in single quotes, as encoding/json shows an invalid one: as the character of that number.
std::string quoted_byte(char c);

/// Escapes a quotation mark, backslash, line feed, carriage return or tab with a backslash.
/// @returns false for all other bytes, with `out` unchanged
bool append_short_escape(std::string& out, char c);

/// Length in bytes of the UTF-8 character at the front; 0: invalid. Sets `code_point` unless 0.
/// @pre !text.empty()
std::size_t utf8_character(std::string_view text, std::uint32_t& code_point);
/// The inverse. @pre code_point is not a surrogate and at most 0x10FFFF.
void append_utf8(std::string& out, std::uint32_t code_point);

} // namespace belay::go_compat
