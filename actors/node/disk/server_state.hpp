#pragma once
// Reads a server's data directory at the start, in the required order, and stores its membership
// there. The program uses real files, the simulator files that lose power.

#include "actors/consensus/raft_peer.hpp"
#include "actors/node/disk/data_directory.hpp"
#include "actors/node/disk/node_disk.hpp"

#include <functional>
#include <memory>
#include <string>

namespace belay::actors {

struct server_state {
  node_disk disk;
  raft::promise promised;
};

/// Log and checkpoint of the server that owns the directory.
/// @param trailing_entries raft_trailing_logs
/// @returns a failure that says what to do if the state is damaged or incomplete, or if the log of
/// a server that belongs to a cluster is gone (docs/internals/pitfalls.md R36)
result<server_state>
open_server_state(const std::string& data_dir, const identity& who, storage::file_system& files,
                  const std::function<result<std::shared_ptr<storage::log_store>>()>& open_log,
                  const std::function<result<std::shared_ptr<storage::checkpoint_store>>()>& open_checkpoints,
                  std::uint64_t trailing_entries = trailing_entries_usual);

/// Stores in that directory what `settings` must make durable. @pre `files` outlives the node
void keep_membership_in(raft_peer_settings& settings, const std::string& data_dir, const identity& who,
                        storage::file_system& files);

} // namespace belay::actors
