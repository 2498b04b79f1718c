#pragma once
// Texts in quotes as Go's %q prints them, which clients of Consul see in error texts; and what all quoting needs: the
// escapes with one letter, and characters of UTF-8.

#include <cstdint>
#include <string>
#include <string_view>

namespace belay::golang {

/// With quotes around it, as %q prints it.
std::string quoted(std::string_view text);

/// A byte in single quotes, as encoding/json shows the one that is wrong: each byte as the character of that number.
std::string quoted_byte(char c);

/// A quotation mark, a backslash, a line feed, a carriage return or a tab, behind a backslash.
/// @returns false for all other bytes, with `out` unchanged
bool append_short_escape(std::string& out, char c);

/// Length in bytes of the UTF-8 character at the front; 0 if the bytes there are none. `code_point` is set unless 0.
/// @pre !text.empty()
std::size_t utf8_character(std::string_view text, std::uint32_t& code_point);
/// The other way round. @pre code_point is none of the surrogates and at most 0x10FFFF.
void append_utf8(std::string& out, std::uint32_t code_point);

} // namespace belay::golang
