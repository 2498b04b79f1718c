#pragma once
// Socket addresses, and their lookup.

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace belay::actors {

struct socket_endpoint {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  const sockaddr* any() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

/// What getaddrinfo finds, in order; may block unless `flags` prevent it. Null: no host, no port.
std::vector<socket_endpoint> all_resolved(const char* host, const char* service, int flags);
/// The first of them.
std::optional<socket_endpoint> resolved(const char* host, const char* service, int flags);

/// nullopt: `host` is a name, not an address. Empty with `passive`: all addresses of the machine.
std::optional<socket_endpoint> numeric_endpoint(const std::string& host, std::uint16_t port, bool passive = false);

socket_endpoint with_port(socket_endpoint e, std::uint16_t port);

/// The numeric host without its port, by which connections are counted.
/// An IPv4 address has one form, whatever the kind of socket.
std::string host_text(const socket_endpoint& e);

} // namespace belay::actors
