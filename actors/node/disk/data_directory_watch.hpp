#pragma once
// Detects that the data directory of a running server was deleted, moved or replaced. Otherwise it
// would continue to write to deleted files, and acknowledge data that is lost when the process
// ends.

#include "protocol/base/result.hpp"

#include <string>
#include <vector>

namespace belay::actors {

class data_directory_watch {
public:
  /// Watches an open data directory, except names that do not exist now.
  explicit data_directory_watch(const std::string& data_dir);
  ~data_directory_watch();
  data_directory_watch(const data_directory_watch&) = delete;
  data_directory_watch& operator=(const data_directory_watch&) = delete;

  /// Compares each name with what was there at the beginning. One stat() for each of five names.
  /// @returns a failure that names the path and its problem.
  /// Errors of the check itself (no permission, a failing disk) are ignored.
  status look() const;

private:
  struct watched {
    std::string path;
    int fd; ///< keeps the inode number in use, so that no other file gets it. -1: only the name is checked
  };
  void watch(std::string path, bool by_inode);

  std::vector<watched> all_;
};

} // namespace belay::actors
