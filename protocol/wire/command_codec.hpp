#pragma once
// Versioned bytes of commands (log entries), their replies (forwarded writes) and table rows (checkpoints).

#include "protocol/state/feature_levels.hpp"
#include "protocol/state/machine.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace belay::wire {

/// First byte: format version (1; 2 for kinds that need a feature level).
std::string encode_command(const state::command& c);
/// nullopt: damaged, or of a kind that this version does not know.
std::optional<state::command> decode_command(std::string_view bytes);

/// What a server must have to understand a command. Can be told of commands that this one does not understand.
struct command_needs {
  state::feature_level level = 0;
  std::string version; ///< the first that has the level; empty: any
};
/// Rows of a restore need what is in them, which their first bytes do not say: servers of levels that have restores read no others.
/// nullopt: not the beginning of a command.
std::optional<command_needs> needs_of(std::string_view bytes);
/// The same command without command::judged_at. nullopt: it has none, or cannot be read.
std::optional<std::string> without_judgement(std::string_view bytes);
/// session_expire as session_destroy, which a restore does not make void. nullopt: it is another command, or cannot be read.
std::optional<std::string> as_session_destroy(std::string_view bytes);
/// The same command without command::client_address. nullopt: it has none, or cannot be read.
std::optional<std::string> without_client_address(std::string_view bytes);
/// Tells an operator what to install, and on `whom` ("this server").
std::string too_new(const command_needs& needs, std::string_view whom);
/// The first bytes of a command that needs that; its tag follows.
std::string encode_needs(const command_needs& needs);

std::string encode_reply(const state::reply& r);
std::optional<state::reply> decode_reply(std::string_view bytes);

/// The value bytes of a row in a checkpoint; empty optional: the row is gone. The key is dirty_row::key.
std::optional<std::string> encode_row(const state::dirty_row& row);
/// Appends the same; nothing if the row is gone.
void append_row(std::string& out, const state::dirty_row& row);
/// At least as many bytes as that are. Quick for keys.
std::size_t row_bytes_max(const state::dirty_row& row);
std::optional<state::dirty_row> decode_row(std::uint8_t table, std::string_view key, std::string_view value);
/// What a row with these bytes counts for in the digest of the tables (state::row_hash); nullopt: it cannot be decoded. Of a
/// key's row without a copy of its value.
std::optional<std::uint64_t> row_hash_of(std::uint8_t table, std::string_view key, std::string_view value);
/// The key under which a row is stored, where the other members of its record determine it; nullopt: they do not.
std::optional<std::string> own_key(const state::dirty_row& row);

} // namespace belay::wire
