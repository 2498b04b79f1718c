#pragma once
// Bytes of a change of a key, as it is kept beside a checkpoint. Where it stands in the log is its key there.
//
//   u8 version (1) | u8 flags | text key | [text row before] | [text row after]
//
// Flags: 1 there is a row after; 2 expired; 4 a row before is written; 8 it goes on from the change before it of its key. Rows as in
// checkpoints (command_codec.hpp), without their keys.

#include "protocol/state/kept_changes.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace belay::wire {

void append_change(std::string& out, const state::kept_change& c);
/// At least as many bytes as that are. Quick.
std::size_t change_bytes_max(const state::kept_change& c);
/// nullopt: damaged. Of one that goes on `change.before` is null.
std::optional<state::kept_change> decode_change(log_index index, std::uint64_t effect, std::string_view bytes);

} // namespace belay::wire
