#include "storage/paced_writes.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

namespace belay::storage {

namespace {

thread_local paced_writes* current = nullptr;
thread_local std::size_t slices = 0;

void lower_priority() {
  thread_local bool done = false;
  if (std::exchange(done, true))
    return;
  constexpr int niceness = 5;
  // linux/ioprio.h: IOPRIO_WHO_PROCESS, and class "best effort" with its last level.
  constexpr int of_thread = 1, best_effort = 2, class_shift = 13, last_level = 7;
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), niceness);
  (void)::syscall(SYS_ioprio_set, of_thread, 0, best_effort << class_shift | last_level);
}

} // namespace

paced_writes::paced_writes(const write_pace& pace) : pace_(pace) {
  if (pace_.slice_bytes == 0)
    return;
  lower_priority();
  current = this;
}

paced_writes::~paced_writes() {
  if (current == this)
    current = nullptr;
}

std::size_t paced_writes::slices_of_this_thread() {
  return slices;
}

void paced_writes::wrote(int fd, ssize_t bytes) {
  if (current == nullptr || bytes <= 0)
    return;
  current->bytes_ += static_cast<std::size_t>(bytes);
  if (current->bytes_ >= current->pace_.slice_bytes)
    current->end_slice(fd);
}

void paced_writes::end_slice(int fd) {
  const int error = errno;
  bytes_ = 0;
  ++slices;
  const auto begun = std::chrono::steady_clock::now();
  // This is no sync: the disk may keep the bytes in its cache. The writer syncs later.
  (void)::sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  const auto took = std::chrono::steady_clock::now() - begun;
  std::this_thread::sleep_for(
      std::min<std::chrono::nanoseconds>(took * static_cast<int>(pace_.rest_percent) / 100, pace_.rest_max));
  errno = error;
}

} // namespace belay::storage

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // sanitizers replace these functions

namespace {

/// The function that is replaced: that of the C library, or of a library in LD_PRELOAD.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

} // namespace

// LMDB 0.9 and posix_files.cpp write with these functions. They are weak, because a test program
// has its own (tests/storage/power).
extern "C" {

[[gnu::weak]] ssize_t pwrite(int fd, const void* from, size_t n, off_t offset) {
  static auto* const real = next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  const auto written = real(fd, from, n, offset);
  belay::storage::paced_writes::wrote(fd, written);
  return written;
}

[[gnu::weak]] ssize_t pwritev(int fd, const struct iovec* parts, int count, off_t offset) {
  static auto* const real = next<ssize_t(int, const struct iovec*, int, off_t)>("pwritev");
  const auto written = real(fd, parts, count, offset);
  belay::storage::paced_writes::wrote(fd, written);
  return written;
}

[[gnu::weak]] ssize_t writev(int fd, const struct iovec* parts, int count) {
  static auto* const real = next<ssize_t(int, const struct iovec*, int)>("writev");
  const auto written = real(fd, parts, count);
  belay::storage::paced_writes::wrote(fd, written);
  return written;
}
}

#endif
