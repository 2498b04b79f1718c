#pragma once
// Encoding of a key's change, as stored beside a checkpoint. Its log position is its key there.
//
//   u8 version (1) | u8 flags | text key | [text row before] | [text row after]
//   u8 version (2) | the same, the value of the row after empty | varint offset of the value
//                  | varint bytes of the value | u32 CRC32C of the value
//
// Flags: 1 there is a row after; 2 expired; 4 a row before is written; 8 goes_on
// (kept_change). Rows are encoded as in checkpoints (command_codec.hpp), without their keys.
//
// Version 2: the value is not stored, because the command of the log entry that made the change
// contains the same bytes at that offset. Most of the bytes of changes are values.

#include "protocol/state/kept_changes.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::wire {

/// Position of a value in the command of a log entry.
struct value_place {
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t crc = 0; ///< CRC32C of the value
};

/// Shorter values are stored: the position takes about as many bytes.
inline constexpr std::size_t placed_value_bytes_min = 8;

/// Finds the value of the row after the change. @param command that of the entry `c.index`
std::optional<value_place> find_value(const state::kept_change& c, std::string_view command);

/// @param value its position, if the value is not to be stored
void append_change(std::string& out, const state::kept_change& c, const std::optional<value_place>& value = {});
/// Upper bound of its encoded size. Fast.
std::size_t change_bytes_max(const state::kept_change& c);
/// nullopt: damaged. If it has goes_on, `change.before` is null.
/// @param value receives the position of a value that is not stored; null: such a change is damaged
std::optional<state::kept_change> decode_change(log_index index, std::uint64_t effect, std::string_view bytes,
                                                std::optional<value_place>* value = nullptr);
/// Sets the value of the row after the change. @returns false: the command does not contain it
bool take_value(state::kept_change& c, const value_place& value, std::string_view command);

} // namespace belay::wire
