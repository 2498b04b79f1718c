#pragma once
// The two meta pages at the beginning of an LMDB file. Commits write them alternately, and leave
// the pages of the previous commit unchanged, so it can be restored. LMDB 1.0 offers this as
// MDB_PREVSNAPSHOT; 0.9 (Debian 12 has 0.9.24) does not, but its files have the same layout:
//
//   page header, 16 bytes   u64 page number | u16 | u16 flags (8: a meta page) | u32
//   meta, 136 bytes         u32 magic | u32 version | u64 address | u64 map size | two databases, 48 bytes each, of which
//                           the first begins with u32 page size | u64 last page | u64 number of the transaction
//
// Numbers are in the byte order of the machine. The second page begins at the page size.

#include "storage/file_system.hpp"

#include <optional>
#include <string>

namespace belay::storage {

/// A meta page before it was overwritten.
struct replaced_meta {
  std::uint64_t offset = 0;
  std::string bytes;
};

/// Puts the commit before the newest one in force, durable on return. @pre no environment has it
/// open @returns the overwritten bytes; nullopt: the file has no earlier commit, or is not LMDB's
result<std::optional<replaced_meta>> revert_newest_commit(file& f);
/// Undoes that.
status undo_revert(file& f, const replaced_meta& before);

} // namespace belay::storage
