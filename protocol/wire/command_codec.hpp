#pragma once
// Versioned encoding of commands (log entries), replies (forwarded writes), rows (checkpoints).

#include "protocol/state/feature_levels.hpp"
#include "protocol/state/machine.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace belay::wire {

/// First byte: format version (1; 2 for kinds that need a feature level).
std::string encode_command(const state::command& c);
/// nullopt: damaged, or of an unknown kind.
std::optional<state::command> decode_command(std::string_view bytes);

/// What a server needs to understand a command. Known even if this server does not understand it.
struct command_needs {
  state::feature_level level = 0;
  std::string version; ///< the first that has the level; empty: any
};
/// nullopt: not the beginning of a command. For the rows of a restore the result is their level,
/// which takes decoding all of `bytes`.
std::optional<command_needs> needs_of(std::string_view bytes);
/// The same command without command::authorized_at. nullopt: it has none, or is unreadable.
std::optional<std::string> without_authorization(std::string_view bytes);
/// session_expire as session_destroy, which a restore does not invalidate. nullopt: another
/// command, or unreadable bytes.
std::optional<std::string> as_session_destroy(std::string_view bytes);
/// The same command without command::client_address. nullopt: it has none, or is unreadable.
std::optional<std::string> without_client_address(std::string_view bytes);
/// An error that names the version to install, and where (`whom`, such as "this server").
std::string too_new(const command_needs& needs, std::string_view whom);
/// The first bytes of a command with these needs; its tag follows.
std::string encode_needs(const command_needs& needs);

std::string encode_reply(const state::reply& r);
std::optional<state::reply> decode_reply(std::string_view bytes);

/// The encoded row of a checkpoint; nullopt: the row was removed. The key is dirty_row::key.
std::optional<std::string> encode_row(const state::dirty_row& row);
/// Appends the same; nothing if the row was removed.
void append_row(std::string& out, const state::dirty_row& row);
/// Upper bound of its encoded size. Fast for keys.
std::size_t row_bytes_max(const state::dirty_row& row);
std::optional<state::dirty_row> decode_row(std::uint8_t table, std::string_view key, std::string_view value);
/// The hash of a row with these bytes (state::row_hash); nullopt:
/// it cannot be decoded. Does not copy the value of a key's row.
std::optional<std::uint64_t> row_hash_of(std::uint8_t table, std::string_view key, std::string_view value);
/// The row's key, if the other members of its record determine it; nullopt: they do not.
std::optional<std::string> own_key(const state::dirty_row& row);

} // namespace belay::wire
