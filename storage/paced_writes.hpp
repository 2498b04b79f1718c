#pragma once
// Writes files in slices, so that a sync of the Raft log does not wait for a whole checkpoint.
//
// The kernel collects writes in memory, and the sync of a checkpoint sends tens of megabytes to the
// disk at once. A sync of the log that comes then waits for them: 10 to 90 ms on a virtual disk. A
// paced thread waits after each slice until the disk has it, and then pauses.
//
// LMDB writes and syncs inside its commit, so paced_writes.cpp replaces the program's pwrite(),
// pwritev() and writev() by functions that count. The order of writes and the syncs stay the same,
// so the possible states after a power loss do, too.

#include <sys/types.h>

#include <chrono>
#include <cstddef>

namespace belay::storage {

struct write_pace {
  /// Size of a slice; 0: no pacing. A disk that writes 100 MB a second needs a millisecond for
  /// 128 KiB, and a sync of the log that comes meanwhile waits about that long.
  std::size_t slice_bytes = 0;
  /// Pause after a slice, in percent of the time that the disk took for it.
  unsigned rest_percent = 100;
  /// Longest pause: a stalled disk must not delay the checkpoint twice.
  std::chrono::milliseconds rest_max{20};
};

/// The pace of a server. The simulator uses none.
inline constexpr write_pace usual_pace{.slice_bytes = 128u << 10};

/// While it lives, the files that this thread writes are written at that pace. It does not nest.
/// The thread keeps a lower priority afterwards: nice 5, and the lowest best-effort I/O priority
/// (I/O schedulers without priorities ignore it).
class paced_writes {
public:
  explicit paced_writes(const write_pace& pace);
  ~paced_writes();
  paced_writes(const paced_writes&) = delete;
  paced_writes& operator=(const paced_writes&) = delete;

  /// Number of slices that this thread has waited for. For tests.
  static std::size_t slices_of_this_thread();

  /// Called by the replaced functions.
  static void wrote(int fd, ssize_t bytes);

private:
  void end_slice(int fd);

  write_pace pace_;
  std::size_t bytes_ = 0; ///< written of the current slice
};

} // namespace belay::storage
