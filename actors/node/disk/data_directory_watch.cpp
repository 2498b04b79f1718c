#include "actors/node/disk/data_directory_watch.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace belay::actors {

data_directory_watch::data_directory_watch(const std::string& data_dir) {
  watch(data_dir, true);
  watch(data_dir + "/raft", true);
  watch(data_dir + "/raft/lock", true); // open while the log is
  watch(data_dir + "/state", true);
  watch(data_dir + "/identity", false); // replaced by the server itself when it joins its cluster
}

data_directory_watch::~data_directory_watch() {
  for (const auto& w : all_)
    if (w.fd >= 0)
      ::close(w.fd);
}

void data_directory_watch::watch(std::string path, bool by_inode) {
  const int fd = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0)
    return;
  if (!by_inode)
    ::close(fd);
  all_.push_back({std::move(path), by_inode ? fd : -1});
}

status data_directory_watch::look() const {
  for (const auto& w : all_) {
    struct stat named {
    }, opened{};
    if (::stat(w.path.c_str(), &named) != 0) {
      // ESTALE: deleted on the server of a network file system.
      if (errno == ENOENT || errno == ENOTDIR || errno == ESTALE)
        return failure{w.path + " was deleted or moved, or its volume was unmounted"};
      continue;
    }
    if (w.fd >= 0 && ::fstat(w.fd, &opened) == 0 && (opened.st_ino != named.st_ino || opened.st_dev != named.st_dev))
      return failure{w.path + " was replaced by another one"};
  }
  return done{};
}

} // namespace belay::actors
