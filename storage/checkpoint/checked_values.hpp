#pragma once
// Values in LMDB, behind u8 version (1) | u32 CRC32C. The CRC covers LMDB's key and what follows the CRC, so a value that stands under another
// key is found out as well.

#include "storage/checkpoint/lmdb_env.hpp"

#include <initializer_list>
#include <optional>
#include <string_view>

namespace belay::storage {

/// Puts a value of these parts under `key`. @returns 0, or the code of LMDB
int put_checked(lmdb_transaction& txn, std::string_view key, std::initializer_list<std::string_view> parts,
                unsigned flags);
/// What follows version and CRC; nullopt: damaged.
std::optional<std::string_view> checked(std::string_view key, std::string_view value);
/// The same of a value that checked() has already been asked about. @pre it was right
std::string_view checked_before(std::string_view value);

} // namespace belay::storage
