#pragma once
// Notices that the data directory of a running server was deleted, moved or replaced. The server would go on writing to
// files that have no name any more: it acknowledges what is gone with the process.

#include "protocol/base/result.hpp"

#include <string>
#include <vector>

namespace belay::actors {

class data_directory_watch {
public:
  /// Of an open data directory. What is missing in it now is not watched.
  explicit data_directory_watch(const std::string& data_dir);
  ~data_directory_watch();
  data_directory_watch(const data_directory_watch&) = delete;
  data_directory_watch& operator=(const data_directory_watch&) = delete;

  /// Compares what is found under each name with what was there at the beginning. One stat() for each of five names.
  /// @returns a failure that names the path and says what became of it. That it cannot be looked at (no permission, a
  /// failing disk) is none.
  status look() const;

private:
  struct watched {
    std::string path;
    int fd; ///< keeps the inode, so that its number is not given to another file. -1: only the name counts
  };
  void watch(std::string path, bool by_inode);

  std::vector<watched> all_;
};

} // namespace belay::actors
