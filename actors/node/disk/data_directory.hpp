#pragma once
// The owner of a data directory: written at its creation, checked at every start.

#include "protocol/base/ids.hpp"
#include "protocol/base/result.hpp"
#include "protocol/raft/formation.hpp"
#include "storage/file_system.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace belay::actors {

/// The file `identity`: lines `name value`, the last one a CRC32C of those before it.
struct identity {
  node_id id; ///< random, new with the directory: a wiped server is another server (docs/internals/pitfalls.md R8)
  std::string uuid; ///< Consul's node ID
  std::string datacenter;
  std::uint64_t cluster_id = 0; ///< zero: in no cluster yet
};

/// Reads the identity, or creates it in an empty or missing directory. Keeps Consul's `node-id`,
/// too.
/// @param configured_uuid from the configuration; empty: random, or the existing one.
/// @returns a failure that says what to do: foreign files, damaged, other datacenter, no
/// permission.
result<identity> open_data_directory(const std::string& path, const std::string& configured_uuid,
                                     const std::string& datacenter);

/// Does the same with the given files.
/// @param random source of ids
/// @pre the directory exists
result<identity> open_data_directory(const std::string& path, const std::string& configured_uuid,
                                     const std::string& datacenter, storage::file_system& files,
                                     const std::function<std::uint64_t()>& random);

/// Reads an existing identity. @returns a failure also if there is none
result<identity> read_identity(const std::string& path, storage::file_system& files = storage::posix_file_system());

/// Replaces the identity durably (write, sync, rename, sync).
status save_identity(const std::string& path, const identity& i,
                     storage::file_system& files = storage::posix_file_system());

/// The promise of this server for the first configuration of its cluster; nothing, if there is no
/// such file. @returns a failure that says what to do: damaged, no permission.
result<raft::promise> load_promise(const std::string& path, storage::file_system& files = storage::posix_file_system());
/// Replaces it durably.
status save_promise(const std::string& path, const raft::promise& p,
                    storage::file_system& files = storage::posix_file_system());

/// Records whether this server has left its cluster, and must not look for it at the next start.
status note_left(const std::string& path, bool left, storage::file_system& files = storage::posix_file_system());
result<bool> has_left(const std::string& path, storage::file_system& files = storage::posix_file_system());

/// Replaces a file, readable by its owner only, and syncs its folder.
status write_durably(storage::file_system& files, const std::string& path, const std::string& text);

/// 122 random bits as a lower-case version 4 UUID, from the operating system.
std::string random_uuid();
std::uint64_t random_u64();

} // namespace belay::actors
