#pragma once
// The socket of a service manager (systemd's $NOTIFY_SOCKET), for tests in that role.

#include "tests/harness/http_client.hpp"

#include <string>

namespace belay::harness {

class notify_socket {
public:
  /// @param address a path, or `@` and an abstract name. @throws std::runtime_error if bind fails
  explicit notify_socket(const std::string& address);
  ~notify_socket();
  notify_socket(const notify_socket&) = delete;
  notify_socket& operator=(const notify_socket&) = delete;

  /// The next datagram; empty if none arrives within `limit`.
  std::string next(milliseconds limit);
  /// Waits for a line with that beginning. @returns false: none arrived within `limit`
  bool received(const std::string& beginning, milliseconds limit);
  /// Drops what has arrived. @returns how many datagrams
  int drain();

private:
  int fd_ = -1;
};

} // namespace belay::harness
