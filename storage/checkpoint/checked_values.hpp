#pragma once
// Values in LMDB, preceded by u8 version (1) | u32 CRC32C. The CRC covers LMDB's key and
// the value, so that a value under a wrong key is detected, too.

#include "storage/checkpoint/lmdb_env.hpp"

#include <initializer_list>
#include <optional>
#include <string_view>

namespace belay::storage {

/// Stores a value of these parts under `key`. @returns 0, or LMDB's error code
int put_checked(lmdb_transaction& txn, std::string_view key, std::initializer_list<std::string_view> parts,
                unsigned flags);
/// The value without version and CRC; nullopt: damaged.
std::optional<std::string_view> checked(std::string_view key, std::string_view value);
/// The same for a value that checked() has accepted. @pre it was valid
std::string_view checked_before(std::string_view value);

} // namespace belay::storage
