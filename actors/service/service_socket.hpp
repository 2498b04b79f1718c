#pragma once
// What a service manager (systemd) gives a process it started: a socket to say how it fares, and a time within which it wants a sign of
// life. The protocol is one datagram of lines for each message (sd_notify(3), "Notes"); why it is not taken from libsystemd:
// docs/adr/0014-notifications-without-libsystemd.md.

#include "protocol/base/result.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace belay::actors {

/// What stands in the environment for this process.
struct service_environment {
  std::string socket; ///< NOTIFY_SOCKET; empty: nobody wants to know
  std::chrono::microseconds watchdog{
      0}; ///< WATCHDOG_USEC, if it is meant for this process; 0: no signs of life are wanted

  /// Takes the variables away, too, so that scripts of checks do not speak in the name of the server.
  /// @pre there is one thread only
  static service_environment take();
};

class service_socket {
public:
  /// @param address an absolute path, or `@` and an abstract name; empty: nobody listens, and nothing is sent
  /// @returns a failure if such an address cannot be one of a Unix socket
  static result<service_socket> open(const std::string& address);

  service_socket() = default;
  ~service_socket();
  service_socket(service_socket&& other) noexcept;
  service_socket& operator=(service_socket&& other) noexcept;

  bool wanted() const { return fd_ >= 0; }
  /// Lines of NAME=value, separated by line breaks. Waits for at most a second if the manager does not read.
  status say(std::string_view lines) const;

private:
  int fd_ = -1;
  std::string address_; ///< a sockaddr_un as far as it is used
};

} // namespace belay::actors
