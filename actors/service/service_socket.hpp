#pragma once
// The interface of a service manager (systemd) to its processes: a socket for status notifications,
// and a watchdog time. Each message is a datagram of lines (sd_notify(3), "Notes").
// Why libsystemd is not used: docs/internals/adr/0014-notifications-without-libsystemd.md.

#include "protocol/base/result.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace belay::actors {

/// The variables in the environment for this process.
struct service_environment {
  std::string socket; ///< NOTIFY_SOCKET; empty: no notifications
  /// WATCHDOG_USEC, if it is meant for this process; 0: no watchdog notifications.
  std::chrono::microseconds watchdog{0};

  /// Also removes the variables, so that scripts of checks do not notify on behalf of the server.
  /// @pre there is one thread only
  static service_environment take();
};

class service_socket {
public:
  /// @param address an absolute path, or `@` and an abstract name; empty: nothing is sent
  /// @returns a failure if the address cannot be one of a Unix socket
  static result<service_socket> open(const std::string& address);

  service_socket() = default;
  ~service_socket();
  service_socket(service_socket&& other) noexcept;
  service_socket& operator=(service_socket&& other) noexcept;

  bool wanted() const { return fd_ >= 0; }
  /// Lines of NAME=value, separated by line breaks. Blocks at most a second if the manager is busy.
  status notify(std::string_view lines) const;

private:
  int fd_ = -1;
  std::string address_; ///< a sockaddr_un, without its unused bytes
};

} // namespace belay::actors
