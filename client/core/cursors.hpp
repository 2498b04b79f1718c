#pragma once
// Cursors as servers write them: `INDEX` or `INDEX.N`; servers from 0.3.0 on append `@` and the
// history in 16 hexadecimal digits (docs/reference/changes.md, Cursors). Recipes store the history beside
// `INDEX.N`, where 0.2.0 does not read it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace belay {
inline namespace v0 {
namespace detail {

struct cursor_parts {
  std::string position;      ///< `INDEX` or `INDEX.N`; empty: none
  std::uint64_t history = 0; ///< 0: the cursor names none

  std::string text() const;
};
/// The text before an `@` is the position, whatever it is. A history that cannot be parsed counts
/// as none.
cursor_parts parts_of_cursor(std::string_view text);
/// Whether a server could have written it.
bool is_cursor(std::string_view text);
/// The index of the entry, and how many of its changes. INDEX alone means all of them.
std::pair<std::uint64_t, std::uint64_t> order_of(std::string_view cursor);

/// The text of a file that holds a cursor:
///
///     INDEX.N LF (64 characters, SPACE for 0, LF for 1: the history's bits, highest first) LF
///
/// 0.2.0 accepts a file as a cursor if it has only digits and dots, and then spaces and line
/// breaks. It ignores only these trailing characters, and sends all the rest to its server, which
/// accepts `INDEX.N`.
std::string file_text_of(std::string_view cursor);
/// Also parses a text from 0.2.0 or another program. nullopt: there is no cursor in it.
std::optional<std::string> cursor_in_file_text(std::string_view text);

} // namespace detail
} // namespace v0
} // namespace belay
