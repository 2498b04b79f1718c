#pragma once
// Writes files back to the disk in slices, so that a sync of the Raft log does not wait for a whole
// checkpoint.
//
// The kernel collects writes in memory, and the sync of a checkpoint sends tens of megabytes to the
// disk at once. A sync of the log that begins meanwhile waits for them: 10 to 90 ms on a virtual
// disk. A paced thread waits until the disk has a slice, pauses, and sends the next one.
//
// LMDB syncs inside its commit and has no hook, so paced_writeback.cpp replaces the program's
// fdatasync(): on a paced thread it writes back in slices first. The order of writes and the syncs
// stay the same, so the states that a power loss can leave do, too.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace belay::storage {

struct write_pace {
  /// Size of a slice. A disk that writes 100 MB a second needs about a millisecond for 128 KiB, and
  /// a sync of the log that begins meanwhile waits that long.
  std::size_t slice_bytes = 128u << 10;
  /// Pause after a slice, in percent of the time that the disk took for it.
  unsigned rest_percent = 100;
  /// Longest pause: a stalled disk must not delay the checkpoint twice.
  std::chrono::milliseconds rest_max{20};
};

/// Paces this thread until it ends. It also gets a lower priority: nice 5, and the lowest
/// best-effort I/O priority (I/O schedulers without priorities ignore it).
void pace_this_thread(const write_pace& pace = {});

/// Starts the writeback of `n` bytes from `offset` (0: to the end of the file). On a paced thread
/// it returns when the disk has them, which is not a sync: they may still be in the disk's cache.
/// @returns 0, or errno of a write that the disk rejected. The kernel reports it once per open
/// file, so that a later sync of the same one succeeds: the caller must treat it as that sync's.
int write_back(int fd, std::uint64_t offset, std::uint64_t n);

/// Number of slices that this thread waited for. For tests.
std::size_t slices_of_this_thread();

} // namespace belay::storage
