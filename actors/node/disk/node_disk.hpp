#pragma once
// Reads a node's disks: the state machine of the newest checkpoint, and the Raft log after it.

#include "protocol/base/result.hpp"
#include "protocol/raft/core.hpp"
#include "protocol/state/machine.hpp"
#include "storage/checkpoint/checkpoint_store.hpp"
#include "storage/log/log_store.hpp"

#include <memory>

namespace belay::actors {

/// The stores, and their contents.
struct node_disk {
  std::shared_ptr<storage::log_store> log;
  std::shared_ptr<storage::checkpoint_store> checkpoints;
  std::shared_ptr<state::machine> machine; ///< empty if there is no checkpoint
  raft::restored_state restored;
  log_index log_begins{1};     ///< the first entry that may be on the disk
  std::uint64_t log_bytes = 0; ///< size of the log's files
};

/// Entries before the checkpoint to load, for followers slightly behind (raft_trailing_logs).
inline constexpr std::uint64_t trailing_entries_usual = 10240;

/// Reads both stores. If a checkpoint is unreadable, uses an older one with the log after it, and
/// logs an ERROR. @returns a failure, for the operator, if nothing is consistent: do not start
result<node_disk> read_disk(std::shared_ptr<storage::log_store> log,
                            std::shared_ptr<storage::checkpoint_store> checkpoints,
                            std::uint64_t trailing_entries = trailing_entries_usual);

/// Whether a server that belongs to a cluster (0: to none yet) still has what it must remember.
/// @returns a failure, for the operator: it would vote again, and has lost what it confirmed
status check_memory(std::uint64_t cluster_id, const raft::restored_state& found);

} // namespace belay::actors
