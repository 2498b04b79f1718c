#include "actors/node/process.hpp"

#include "actors/node/boot_clock.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/diagnosis/standstill.hpp"

#include <caf/io/middleman.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace belay::actors {

system_config::system_config() {
  load<caf::io::middleman>();
  // Measured (docs/internals/adr/0004): sharing wakes in 7 us without polling, stealing in up to 115 us.
  set("scheduler.policy", caf::atom("sharing"));
  set("scheduler.max-threads", std::size_t{1});
  set("scheduler.max-throughput", std::size_t{100});
  set("middleman.workers", std::size_t{0});
}

int cannot_start(const std::string& why) {
  log::error("node", "cannot start", {{"reason", why}});
  return 1;
}

void raise_file_limit() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
}

sigset_t blocked_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGUSR1})
    sigaddset(&signals, s);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

int wait_for_signal(const sigset_t& signals) {
  // The start of a pause in it is unknown: short, so that the reported length is nearly right.
  constexpr std::chrono::milliseconds pause{250};
  const timespec limit{0, std::chrono::nanoseconds(pause).count()};
  const auto begun = boot_clock::now();
  const int signal = sigtimedwait(&signals, nullptr, &limit); // SIGCONT ends it, too
  if (const auto stood = diagnosis::standstill_of(pause, boot_clock::now() - begun))
    log::warn("node", "process did not run",
              {{"seconds", std::round(std::chrono::duration<double>(*stood).count() * 10) / 10},
               {"advice", "it was stopped (SIGSTOP), the machine was suspended, or it got no CPU time; sessions "
                          "and leadership may have ended meanwhile"}});
  return signal;
}

namespace {

constexpr const char* dev_prefix = "belay-dev-";
// An empty server takes 50 MB, and containers have 64 MB of this memory by default.
constexpr std::uint64_t memory_free_min = 256u << 20;

bool has_memory(const std::string& folder) {
  struct statfs facts {};
  return ::statfs(folder.c_str(), &facts) == 0 && facts.f_type == TMPFS_MAGIC &&
         facts.f_bavail * static_cast<std::uint64_t>(facts.f_bsize) >= memory_free_min;
}

/// @returns -1: it is in use, or belongs to another user
int lock_directory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat facts {};
  if (fd < 0 || (::fstat(fd, &facts) == 0 && facts.st_uid == ::geteuid() && ::flock(fd, LOCK_EX | LOCK_NB) == 0))
    return fd;
  ::close(fd);
  return -1;
}

void remove_left_behind(const std::string& folder) {
  std::error_code ignored;
  for (const auto& each : std::filesystem::directory_iterator(folder, ignored)) {
    if (!each.path().filename().string().starts_with(dev_prefix))
      continue;
    if (const int lock = lock_directory(each.path()); lock >= 0) {
      std::filesystem::remove_all(each.path(), ignored);
      ::close(lock);
    }
  }
}

} // namespace

temporary_directory::temporary_directory(bool wanted, const std::string& in_memory) {
  if (!wanted)
    return;
  const bool memory = has_memory(in_memory);
  const auto folder = memory ? in_memory : std::string("/tmp");
  remove_left_behind(folder);
  // Before it is locked, another process may remove it as left behind: then the name is gone.
  for (int attempt = 0; attempt < 10 && path_.empty(); ++attempt) {
    auto name = folder + "/" + dev_prefix + "XXXXXX";
    if (mkdtemp(name.data()) == nullptr)
      return;
    lock_ = lock_directory(name);
    struct stat locked {
    }, named{};
    if (lock_ >= 0 && ::fstat(lock_, &locked) == 0 && ::stat(name.c_str(), &named) == 0 &&
        locked.st_ino == named.st_ino)
      path_ = name;
    else if (lock_ >= 0)
      ::close(std::exchange(lock_, -1));
  }
  if (!memory)
    log::warn("node", "-dev: /dev/shm has too little space; the data is on a disk until the server stops",
              {{"wanted", in_memory}, {"folder", path_}});
}

temporary_directory::~temporary_directory() {
  std::error_code ignored;
  if (!path_.empty())
    std::filesystem::remove_all(path_, ignored);
  if (lock_ >= 0)
    ::close(lock_);
}

} // namespace belay::actors
