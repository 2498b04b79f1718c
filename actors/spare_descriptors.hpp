#pragma once
// File descriptors that connections leave to the files of the log and of checkpoints: a server that cannot open the next segment of
// its log stops, one that turns a client away does not.

#include <sys/resource.h>

namespace belay::actors {

/// A segment of the log, a checkpoint with its lock, a snapshot, files of the agent's, and as much again.
constexpr rlim_t spare_descriptors = 32;

/// Whether a connection may keep the descriptor it was given. Numbers are given from below: a high one says that all lower ones are
/// in use.
inline bool leaves_spare_descriptors(int fd) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY)
    return true;
  return static_cast<rlim_t>(fd) + spare_descriptors < files.rlim_cur;
}

} // namespace belay::actors
