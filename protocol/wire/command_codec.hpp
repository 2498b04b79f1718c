#pragma once
// Versioned bytes of commands (log entries), their replies (forwarded writes) and table rows (checkpoints).

#include "protocol/state/machine.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace belay::wire {

/// First byte: format version (1).
std::string encode_command(const state::command& c);
/// nullopt: damaged or of an unknown version.
std::optional<state::command> decode_command(std::string_view bytes);

std::string encode_reply(const state::reply& r);
std::optional<state::reply> decode_reply(std::string_view bytes);

/// The value bytes of a row in a checkpoint; empty optional: the row is gone. The key is dirty_row::key.
std::optional<std::string> encode_row(const state::dirty_row& row);
std::optional<state::dirty_row> decode_row(std::uint8_t table, std::string_view key, std::string_view value);

} // namespace belay::wire
