// Preloaded into a server by warnings_test.py: a disk that is slow, and one that changes what is written.
//
//   BELAY_TEST_SYNC_MS   names a file with how many milliseconds fdatasync() takes; without that file, none
//   BELAY_TEST_DAMAGE    names a file: while it is there, "DAMAGE-ME" in what is written to files *.mdb becomes "DAMAGE-ED"

#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

namespace {

bool is_damaged(int fd) {
  const char* file = std::getenv("BELAY_TEST_DAMAGE");
  if (file == nullptr || ::access(file, F_OK) != 0)
    return false;
  char target[4096];
  const auto n = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target);
  return n > 0 && std::string_view(target, static_cast<std::size_t>(n)).ends_with(".mdb");
}

/// In place: the buffers are pages that LMDB throws away after it has written them.
void damage(void* bytes, std::size_t n) {
  constexpr std::string_view marker = "DAMAGE-ME";
  const std::string_view page(static_cast<const char*>(bytes), n);
  for (auto at = page.find(marker); at != page.npos; at = page.find(marker, at + 1))
    static_cast<char*>(bytes)[at + marker.size() - 2] = 'E', static_cast<char*>(bytes)[at + marker.size() - 1] = 'D';
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

} // namespace

extern "C" int fdatasync(int /*fd*/) {
  int ms = 0;
  if (const char* file = std::getenv("BELAY_TEST_SYNC_MS"))
    std::ifstream(file) >> ms;
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  return 0;
}

extern "C" ssize_t pwrite(int fd, const void* bytes, std::size_t n, off_t offset) {
  static auto* const real = next<ssize_t(int, const void*, std::size_t, off_t)>("pwrite");
  if (is_damaged(fd))
    damage(const_cast<void*>(bytes), n);
  return real(fd, bytes, n, offset);
}

extern "C" ssize_t pwrite64(int fd, const void* bytes, std::size_t n, off64_t offset) {
  static auto* const real = next<ssize_t(int, const void*, std::size_t, off64_t)>("pwrite64");
  if (is_damaged(fd))
    damage(const_cast<void*>(bytes), n);
  return real(fd, bytes, n, offset);
}

extern "C" ssize_t writev(int fd, const iovec* parts, int count) {
  static auto* const real = next<ssize_t(int, const iovec*, int)>("writev");
  if (is_damaged(fd))
    for (int i = 0; i < count; ++i)
      damage(parts[i].iov_base, parts[i].iov_len);
  return real(fd, parts, count);
}
