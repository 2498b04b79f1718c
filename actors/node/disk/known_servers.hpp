#pragma once
// The servers that a client agent knew last: the file `known-servers` of its data directory, so that one that was told of them by a join
// finds them again. Lines HOST:PORT, the last line with a CRC32C of those before it.

#include "protocol/base/result.hpp"
#include "storage/file_system.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace belay::actors {

/// More are neither kept nor read: no cluster has so many servers.
inline constexpr std::size_t known_servers_max = 64;

/// Empty: there is no such file. @returns a failure for one that is damaged or cannot be read; the agent can do without
result<std::vector<std::string>> load_known_servers(const std::string& directory,
                                                    storage::file_system& files = storage::posix_file_system());
/// Replaces it durably.
status save_known_servers(const std::string& directory, const std::vector<std::string>& servers,
                          storage::file_system& files = storage::posix_file_system());

/// Keeps the newest list. Its two halves are for two threads: one that may not wait for a disk, and one that may.
class known_servers_keeper {
public:
  explicit known_servers_keeper(std::string directory) : directory_(std::move(directory)) {}

  void take(std::vector<std::string> servers);
  /// Writes what was taken last, if that is not done yet; also that this agent has not left, since it has servers. Any number of threads.
  status write();

private:
  const std::string directory_;
  std::mutex newest_held_, writing_;
  std::vector<std::string> newest_;
  bool written_ = true;
};

} // namespace belay::actors
