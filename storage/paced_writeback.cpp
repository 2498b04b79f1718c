#include "storage/paced_writeback.hpp"

#include "protocol/base/mutants.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <thread>

namespace belay::storage {

namespace {

thread_local std::optional<write_pace> pace_of_thread;
thread_local std::size_t slices = 0;

// A slice that took less had nothing to write: the fastest disks need more for one page.
constexpr std::chrono::microseconds nothing_written{20};

/// Other errors say that this file cannot be written back in slices.
bool is_lost_write(int error) {
  return error == EIO || error == ENOSPC || error == EDQUOT;
}

/// @returns like write_back()
int write_slice(const write_pace& pace, int fd, std::uint64_t offset) {
  const auto begun = std::chrono::steady_clock::now();
  if (::sync_file_range(fd, static_cast<off_t>(offset), static_cast<off_t>(pace.slice_bytes),
                        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER) != 0 &&
      is_lost_write(errno))
    return errno;
  const auto took = std::chrono::steady_clock::now() - begun;
  if (took < nothing_written)
    return 0;
  ++slices;
  std::this_thread::sleep_for(
      std::min<std::chrono::nanoseconds>(took * static_cast<int>(pace.rest_percent) / 100, pace.rest_max));
  return 0;
}

} // namespace

void pace_this_thread(const write_pace& pace) {
  pace_of_thread = pace;
  constexpr int niceness = 5;
  // linux/ioprio.h: IOPRIO_WHO_PROCESS, and class "best effort" with its last level.
  constexpr int of_thread = 1, best_effort = 2, class_shift = 13, last_level = 7;
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), niceness);
  (void)::syscall(SYS_ioprio_set, of_thread, 0, best_effort << class_shift | last_level);
}

int write_back(int fd, std::uint64_t offset, std::uint64_t n) {
  if (!pace_of_thread) { // without waiting it takes no error from the file
    (void)::sync_file_range(fd, static_cast<off_t>(offset), static_cast<off_t>(n), SYNC_FILE_RANGE_WRITE);
    return 0;
  }
  struct stat file {};
  const auto end = n > 0 ? offset + n : ::fstat(fd, &file) == 0 ? static_cast<std::uint64_t>(file.st_size) : 0;
  for (; offset < end; offset += pace_of_thread->slice_bytes)
    if (const int lost = write_slice(*pace_of_thread, fd, offset); lost != 0 && !MUTANT(lost_slice_forgotten))
      return lost;
  return 0;
}

std::size_t slices_of_this_thread() {
  return slices;
}

} // namespace belay::storage

// Weak, because a test program has its own (tests/storage/power), and so do sanitizers.
extern "C" [[gnu::weak]] int fdatasync(int fd) {
  // The function that is replaced: that of the C library, or of a library in LD_PRELOAD.
  static auto* const next = reinterpret_cast<int (*)(int)>(::dlsym(RTLD_NEXT, "fdatasync"));
  if (belay::storage::pace_of_thread) {
    const int error = errno;
    if (const int lost = belay::storage::write_back(fd, 0, 0); lost != 0) {
      errno = lost;
      return -1;
    }
    errno = error;
  }
  return next(fd);
}
