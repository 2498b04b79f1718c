#pragma once
// What a node finds on its disks when it starts: the state machine of the newest checkpoint, and the Raft log behind it.

#include "protocol/base/result.hpp"
#include "protocol/raft/core.hpp"
#include "protocol/state/machine.hpp"
#include "storage/checkpoint_store.hpp"
#include "storage/log_store.hpp"

#include <memory>

namespace belay::actors {

/// The stores, and what was in them.
struct node_disk {
  std::shared_ptr<storage::log_store> log;
  std::shared_ptr<storage::checkpoint_store> checkpoints;
  std::shared_ptr<state::machine> machine; ///< empty if there is no checkpoint
  raft::restored_state restored;
};

/// Reads both stores. @returns a failure, for the operator, if one cannot be read, or if they do not fit together: the node must
/// not start
result<node_disk> read_disk(std::shared_ptr<storage::log_store> log,
                            std::shared_ptr<storage::checkpoint_store> checkpoints);

/// Whether a server that belongs to a cluster (0: to none yet) still has what it must remember.
/// @returns a failure, for the operator: it would vote again, and had confirmed what it does not know any more
status check_memory(std::uint64_t cluster_id, const raft::restored_state& found);

} // namespace belay::actors
