#pragma once
// The interface to the Raft log on a disk: stores what raft::core requires to be durable
// (persist_batch). Implemented by segment_log and by the simulator
// (sim/environment/simulated_disk.hpp).

#include "protocol/base/result.hpp"
#include "protocol/raft/core.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace belay::storage {

/// What was found at opening. Entries are contiguous.
struct loaded_log {
  raft::hard_state hard;
  std::vector<raft::entry> entries;
  log_index begins{1};     ///< the first entry that may be on the disk, loaded or not
  log_index next{1};       ///< after the last entry, even if that was skipped or compacted
  std::uint64_t bytes = 0; ///< size of the files
};

/// Use it from one thread only. After a failure of append(), except a full disk, do not use the
/// object again: the process stops (docs/internals/pitfalls.md R22).
class log_store {
public:
  virtual ~log_store() = default;

  /// Call it once, first. Its result is durable. A torn tail (an unfinished last write)
  /// is removed; damage elsewhere is a failure that names file and offset.
  /// @param needed earlier entries may be skipped, and their part of the files left unread
  virtual result<loaded_log> load(log_index needed) = 0;
  result<loaded_log> load() { return load(log_index{}); }

  /// Makes all batches durable, in order, with one sync. Each batch is atomic: after a crash
  /// it is there completely or not at all, and no later one without it. A failure of the kind
  /// no_space was detected before writing: the log is unchanged and usable.
  virtual status append(const std::vector<raft::persist_batch>& batches) = 0;

  /// Entries before `first_kept` are no longer needed (they are in a checkpoint). Removes whole
  /// segments, at most `segments_max`: each takes as long as a sync, and appends wait meanwhile.
  /// @returns true: there are more
  virtual result<bool> compact(log_index first_kept, std::size_t segments_max) = 0;
  /// All of them.
  status compact(log_index first_kept) {
    const auto more = compact(first_kept, SIZE_MAX);
    return more ? status(done{}) : status(more.reason());
  }
  /// Segments that begin from now on may have a layout that servers of 0.2.0 cannot read.
  virtual void use_sectors() {}
};

} // namespace belay::storage
