#pragma once
// What a server finds in its data directory when it starts, in the order in which it must be looked at, and what it keeps
// there of its place in the cluster. The program does it on real files, the simulator on files that lose their power.

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

/// Log and checkpoint of the server that the directory belongs to.
/// @param trailing_entries raft_trailing_logs
/// @returns a failure that says what to do: damaged, a part is missing, or the log is gone of a server that belongs to a
/// cluster (docs/pitfalls.md R36)
result<server_state>
open_server_state(const std::string& data_dir, const identity& who, storage::file_system& files,
                  const std::function<result<std::shared_ptr<storage::log_store>>()>& open_log,
                  const std::function<result<std::shared_ptr<storage::checkpoint_store>>()>& open_checkpoints,
                  std::uint64_t trailing_entries = trailing_entries_usual);

/// What `settings` must make durable is kept in that directory. @pre `files` outlives the node
void keep_membership_in(raft_peer_settings& settings, const std::string& data_dir, const identity& who,
                        storage::file_system& files);

} // namespace belay::actors
