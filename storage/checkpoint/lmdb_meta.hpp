#pragma once
// The two meta pages at the beginning of an LMDB file. A commit writes one of them, by turns, and leaves the pages of the
// commit before as they were. So that one is still there, and can be put in force again. LMDB 1.0 offers this as
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

/// A meta page as it was before it was overwritten.
struct replaced_meta {
  std::uint64_t offset = 0;
  std::string bytes;
};

/// Puts the commit before the newest one in force, durable upon return. @pre no environment has the file open
/// @returns what was overwritten; nullopt: the file has no commit before, or is not one of LMDB's
result<std::optional<replaced_meta>> revert_newest_commit(file& f);
/// Takes that back.
status undo_revert(file& f, const replaced_meta& before);

} // namespace belay::storage
