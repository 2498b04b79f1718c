#pragma once
// The servers that a client agent knew last: the file `known-servers` of its data directory, for
// an agent that learned them by a join. Lines HOST:PORT, the last line a CRC32C of those before it.

#include "protocol/base/result.hpp"
#include "storage/file_system.hpp"

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace belay::actors {

/// More are neither stored nor read: no cluster has as many servers.
inline constexpr std::size_t known_servers_max = 64;

/// Empty: no such file. @returns a failure if it is damaged or unreadable; the agent can continue
result<std::vector<std::string>> load_known_servers(const std::string& directory,
                                                    storage::file_system& files = storage::posix_file_system());
/// Replaces it durably.
status save_known_servers(const std::string& directory, const std::vector<std::string>& servers,
                          storage::file_system& files = storage::posix_file_system());

/// Keeps the newest list. One thread that must not block calls take(), another one write().
class known_servers_keeper {
public:
  explicit known_servers_keeper(std::string directory) : directory_(std::move(directory)) {}

  void take(std::vector<std::string> servers);
  /// Writes the last list, if not done yet, and that this agent has not left. Thread-safe.
  status write();

private:
  const std::string directory_;
  std::mutex newest_held_, writing_;
  std::vector<std::string> newest_;
  bool written_ = true;
};

} // namespace belay::actors
