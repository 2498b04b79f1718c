#pragma once
// The interface to the Raft log on a disk: everything that raft::core says must be durable (raft::persist_batch) goes
// through it. Implemented by segment_log, and by the simulator (sim/world/simulated_disk.hpp).

#include "protocol/base/result.hpp"
#include "protocol/raft/core.hpp"

#include <memory>
#include <vector>

namespace belay::storage {

/// What was found at opening. Entries are contiguous.
struct loaded_log {
  raft::hard_state hard;
  std::vector<raft::entry> entries;
  log_index begins{1};     ///< the first entry that may be on the disk, loaded or not
  log_index next{1};       ///< after the last entry, also if that was left out or compacted
  std::uint64_t bytes = 0; ///< of the files
};

/// Used by one thread. After a failure of append(), unless the disk was only full, the object must not be used again:
/// the process stops (docs/pitfalls.md R22).
class log_store {
public:
  virtual ~log_store() = default;

  /// Once, before anything else. What it returns is durable. A torn tail (an unfinished last write) is cut; damage
  /// elsewhere is a failure that names file and offset.
  /// @param needed entries before it may be left out, and their part of the files unread
  virtual result<loaded_log> load(log_index needed) = 0;
  result<loaded_log> load() { return load(log_index{}); }

  /// Makes all batches durable, in order, with one sync. Each batch is atomic: after a crash it is there whole or not
  /// at all, and no later one without it. A failure of the kind no_space was found
  /// before anything was written: the log is unchanged and usable.
  virtual status append(const std::vector<raft::persist_batch>& batches) = 0;

  /// Entries before `first_kept` are not needed any more (they are in a checkpoint). Whole segments only.
  virtual status compact(log_index first_kept) = 0;
};

} // namespace belay::storage
