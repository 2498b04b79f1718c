#pragma once
// Encoding of a key's change, as stored beside a checkpoint. Its log position is its key there.
//
//   u8 version (1) | u8 flags | text key | [text row before] | [text row after]
//
// Flags: 1 there is a row after; 2 expired; 4 a row before is written; 8 goes_on
// (kept_change). Rows are encoded as in checkpoints (command_codec.hpp), without their keys.

#include "protocol/state/kept_changes.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace belay::wire {

void append_change(std::string& out, const state::kept_change& c);
/// Upper bound of its encoded size. Fast.
std::size_t change_bytes_max(const state::kept_change& c);
/// nullopt: the bytes are damaged. If `goes_on` is set, `change.before` is null.
std::optional<state::kept_change> decode_change(log_index index, std::uint64_t effect, std::string_view bytes);

} // namespace belay::wire
