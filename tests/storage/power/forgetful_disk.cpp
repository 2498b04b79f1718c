#include "tests/storage/power/forgetful_disk.hpp"

#include "protocol/base/random.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace belay::tests {

namespace {

namespace fs = std::filesystem;

// The system calls, without the functions below.
int real_open(const char* path, int flags, mode_t mode) {
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
ssize_t real_pread(int fd, void* into, std::size_t n, off_t at) {
  return ::syscall(SYS_pread64, fd, into, n, at);
}
ssize_t real_pwrite(int fd, const void* from, std::size_t n, off_t at) {
  return ::syscall(SYS_pwrite64, fd, from, n, at);
}
int real_rename(const char* from, const char* to) {
  return static_cast<int>(::syscall(SYS_rename, from, to));
}
int real_unlink(const char* path) {
  return static_cast<int>(::syscall(SYS_unlink, path));
}

constexpr std::size_t sector = 512;

struct change {
  enum class kind : std::uint8_t { bytes, size, created, renamed, removed } what = kind::bytes;
  ino_t file = 0;        ///< bytes, size
  off_t offset = 0;      ///< bytes
  std::string before;    ///< bytes: what was overwritten, up to the end of the file
  std::size_t n = 0;     ///< bytes: that were written
  off_t size_before = 0; ///< bytes, size
  std::string path, to;  ///< names
  std::string kept;      ///< names: a link to the file that lost its name; empty: none did
};

class disk {
public:
  disk(std::string folder, std::uint64_t n, survival how, std::uint64_t seed)
      : folder_(std::move(folder) + "/"), left_(n), how_(how), chance_(seed) {}

  bool holds(const std::string& path) const { return path.starts_with(folder_) && !busy_; }

  /// Call it before each changing call.
  void step() {
    if (--left_ == 0)
      lose_power();
  }

  void opened(int fd, const std::string& path, bool fresh, bool synchronous) {
    struct stat s {};
    if (::fstat(fd, &s) != 0)
      return;
    descriptors_[fd] = {s.st_ino, synchronous};
    if (S_ISREG(s.st_mode) && !files_.contains(s.st_ino))
      files_[s.st_ino] = real_open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR | O_CLOEXEC, 0);
    if (fresh)
      pending_.push_back({change::kind::created, 0, 0, {}, 0, 0, path, {}, {}});
  }
  void closed(int fd) { descriptors_.erase(fd); }
  bool knows(int fd) const { return descriptors_.contains(fd) && !busy_; }

  void writes(int fd, off_t at, std::size_t n) {
    step();
    const auto d = descriptors_[fd];
    if (d.synchronous)
      return;
    change c;
    c.file = d.file;
    c.offset = at;
    c.n = n;
    c.size_before = size_of(d.file);
    c.before.resize(n);
    const auto got = real_pread(files_[d.file], c.before.data(), n, at);
    c.before.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    pending_.push_back(std::move(c));
  }
  void resizes(int fd) {
    step();
    change c;
    c.what = change::kind::size;
    c.file = descriptors_[fd].file;
    c.size_before = size_of(c.file);
    pending_.push_back(std::move(c));
  }
  void synced(int fd) {
    const auto d = descriptors_[fd];
    struct stat s {};
    if (::fstat(fd, &s) != 0)
      return;
    const bool folder = S_ISDIR(s.st_mode);
    std::erase_if(pending_, [&](const change& c) {
      const bool of_names = c.what != change::kind::bytes && c.what != change::kind::size;
      struct stat parent {};
      if (of_names && folder && ::stat(fs::path(c.to.empty() ? c.path : c.to).parent_path().c_str(), &parent) == 0 &&
          parent.st_ino == s.st_ino) {
        if (!c.kept.empty())
          real_unlink(c.kept.c_str());
        return true;
      }
      return !of_names && c.file == d.file;
    });
  }

  /// @returns a link to the file of that name; empty: there is none
  std::string keep(const std::string& path) {
    const auto kept = folder_ + "kept-" + std::to_string(++kept_);
    return ::link(path.c_str(), kept.c_str()) == 0 ? kept : std::string();
  }
  void renames(const std::string& from, const std::string& to) {
    step();
    pending_.push_back({change::kind::renamed, 0, 0, {}, 0, 0, from, to, keep(to)});
  }
  void removes(const std::string& path) {
    step();
    pending_.push_back({change::kind::removed, 0, 0, {}, 0, 0, path, {}, keep(path)});
  }

private:
  struct descriptor {
    ino_t file = 0;
    bool synchronous = false;
  };

  off_t size_of(ino_t file) {
    struct stat s {};
    return ::fstat(files_[file], &s) == 0 ? s.st_size : 0;
  }

  [[noreturn]] void lose_power() {
    busy_ = true;
    std::size_t names = 0;
    for (const auto& c : pending_)
      names += c.what > change::kind::size;
    auto names_lost = how_ == survival::nothing ? names : chance_.below(names + 1);
    for (auto c = pending_.rbegin(); c != pending_.rend(); ++c)
      if (c->what > change::kind::size) {
        if (names_lost > 0) {
          --names_lost;
          take_back_name(*c);
        }
      } else if (how_ == survival::nothing || chance_.below(2) == 0) {
        take_back(*c);
      }
    for (int i = 1; i <= kept_; ++i)
      real_unlink((folder_ + "kept-" + std::to_string(i)).c_str());
    ::_exit(power_lost);
  }

  void take_back_name(const change& c) {
    if (c.what == change::kind::created) {
      real_unlink(c.path.c_str());
      return;
    }
    if (c.what == change::kind::renamed)
      real_rename(c.to.c_str(), c.path.c_str());
    if (!c.kept.empty())
      real_rename(c.kept.c_str(), (c.what == change::kind::renamed ? c.to : c.path).c_str());
  }

  void take_back(const change& c) {
    const int fd = files_[c.file];
    std::size_t kept = 0;
    if (c.what == change::kind::bytes && how_ == survival::some)
      kept = chance_.below(c.n / sector + 1) * sector;
    if (kept < c.before.size())
      (void)real_pwrite(fd, c.before.data() + kept, c.before.size() - kept, c.offset + static_cast<off_t>(kept));
    if (kept == 0)
      (void)::syscall(SYS_ftruncate, fd, c.size_before);
  }

  std::string folder_;
  std::uint64_t left_;
  survival how_;
  seeded_random chance_;
  bool busy_ = false;
  int kept_ = 0;
  std::map<int, descriptor> descriptors_;
  std::map<ino_t, int> files_;  ///< descriptors of this disk itself
  std::vector<change> pending_; ///< oldest first
};

disk* the_disk = nullptr;

} // namespace

void cut_power_at(const std::string& folder, std::uint64_t n, survival how, std::uint64_t seed) {
  the_disk = new disk(folder, n, how, seed);
}

} // namespace belay::tests

using belay::tests::the_disk;

extern "C" {

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list list;
    va_start(list, flags);
    mode = va_arg(list, mode_t);
    va_end(list);
  }
  const bool ours = the_disk != nullptr && the_disk->holds(path);
  const bool fresh = ours && (flags & O_CREAT) != 0 && ::syscall(SYS_access, path, F_OK) != 0;
  if (fresh)
    the_disk->step();
  const bool emptied = ours && !fresh && (flags & O_TRUNC) != 0;
  const int left_out = emptied ? O_TRUNC | O_DSYNC : ours ? O_DSYNC : 0; // nothing waits for the real disk
  const int fd = belay::tests::real_open(path, flags & ~left_out, mode);
  if (fd >= 0 && ours)
    the_disk->opened(fd, path, fresh, (flags & O_DSYNC) != 0);
  if (fd >= 0 && emptied && ::ftruncate(fd, 0) != 0)
    return -1;
  return fd;
}

int close(int fd) {
  if (the_disk != nullptr)
    the_disk->closed(fd);
  return static_cast<int>(::syscall(SYS_close, fd));
}

ssize_t pwrite(int fd, const void* from, size_t n, off_t at) {
  if (the_disk != nullptr && the_disk->knows(fd))
    the_disk->writes(fd, at, n);
  return belay::tests::real_pwrite(fd, from, n, at);
}

ssize_t write(int fd, const void* from, size_t n) {
  if (the_disk != nullptr && the_disk->knows(fd))
    the_disk->writes(fd, ::lseek(fd, 0, SEEK_CUR), n);
  return ::syscall(SYS_write, fd, from, n);
}

ssize_t writev(int fd, const iovec* parts, int count) {
  std::size_t n = 0;
  for (int i = 0; i < count; ++i)
    n += parts[i].iov_len;
  if (the_disk != nullptr && the_disk->knows(fd))
    the_disk->writes(fd, ::lseek(fd, 0, SEEK_CUR), n);
  return ::syscall(SYS_writev, fd, parts, count);
}

ssize_t pwritev(int fd, const iovec* parts, int count, off_t at) {
  std::size_t n = 0;
  for (int i = 0; i < count; ++i)
    n += parts[i].iov_len;
  if (the_disk != nullptr && the_disk->knows(fd))
    the_disk->writes(fd, at, n);
  return ::syscall(SYS_pwritev, fd, parts, count, at, 0);
}

int ftruncate(int fd, off_t size) noexcept {
  if (the_disk != nullptr && the_disk->knows(fd))
    the_disk->resizes(fd);
  return static_cast<int>(::syscall(SYS_ftruncate, fd, size));
}

int fsync(int fd) {
  if (the_disk == nullptr || !the_disk->knows(fd))
    return 0; // only that disk loses power here
  the_disk->step();
  the_disk->synced(fd);
  return 0;
}

int fdatasync(int fd) {
  return fsync(fd);
}

int rename(const char* from, const char* to) noexcept {
  if (the_disk != nullptr && the_disk->holds(to))
    the_disk->renames(from, to);
  return belay::tests::real_rename(from, to);
}

int unlink(const char* path) noexcept {
  if (the_disk != nullptr && the_disk->holds(path))
    the_disk->removes(path);
  return belay::tests::real_unlink(path);
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  if (the_disk != nullptr && flags == 0 && the_disk->holds(path))
    the_disk->removes(path);
  return static_cast<int>(::syscall(SYS_unlinkat, folder, path, flags));
}

int remove(const char* path) noexcept {
  return unlink(path);
}

} // extern "C"
