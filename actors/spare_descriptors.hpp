#pragma once
// Reserves file descriptors for the files of the log and of checkpoints. A server that cannot open
// the next segment of its log stops, whereas one that rejects a client continues.

#include <sys/resource.h>

namespace belay::actors {

/// A log segment, a checkpoint and its lock, a snapshot, files of the agent, and as many more.
constexpr rlim_t spare_descriptors = 32;

/// Whether a connection may keep its descriptor. The kernel assigns the lowest free number,
/// so a high number means that all lower ones are in use.
inline bool leaves_spare_descriptors(int fd) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY)
    return true;
  return static_cast<rlim_t>(fd) + spare_descriptors < files.rlim_cur;
}

} // namespace belay::actors
