#pragma once
// Cursors as servers write them: `INDEX` or `INDEX.N`, and with servers of 0.3.0 `@` and the
// history that it belongs to in 16 hexadecimal digits (docs/changes.md, Cursors). Recipes keep the
// history beside `INDEX.N`, where 0.2.0 does not look.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace belay {
inline namespace v0 {
namespace detail {

struct cursor {
  std::string position;      ///< `INDEX` or `INDEX.N`; empty: none
  std::uint64_t history = 0; ///< 0: it names none

  std::string text() const;
};
/// What is in front of an `@` is the position, whatever it is. A history that cannot be read counts
/// as none.
cursor cursor_in(std::string_view text);
/// Whether a server could have written it.
bool is_cursor(std::string_view text);
/// The entry, and how much of it. INDEX alone is all of it.
std::pair<std::uint64_t, std::uint64_t> order_of(std::string_view cursor);

/// The text of a file with a cursor in it:
///
///     INDEX.N LF (64 characters, SPACE for 0 and LF for 1: the bits of the history, the highest first) LF
///
/// 0.2.0 takes the text of a file for a cursor if there are only digits and dots in it but for
/// spaces and line breaks at the end, and sends all the rest to its server, which takes `INDEX.N`.
/// These are the only characters that it passes over.
std::string file_text_of(std::string_view cursor);
/// Also of a text that 0.2.0 or somebody else has written. nullopt: there is no cursor in it.
std::optional<std::string> cursor_in_file_text(std::string_view text);

} // namespace detail
} // namespace v0
} // namespace belay
