#pragma once
// Addresses of sockets, and what finds them.

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

/// What getaddrinfo finds, in its order, which may wait for a name server unless `flags` say otherwise. Null: no host, no port.
std::vector<socket_endpoint> all_resolved(const char* host, const char* service, int flags);
/// The first of them.
std::optional<socket_endpoint> resolved(const char* host, const char* service, int flags);

/// nullopt: `host` is not an address but a name. Empty with `passive`: all addresses of the machine.
std::optional<socket_endpoint> numeric_endpoint(const std::string& host, std::uint16_t port, bool passive = false);

socket_endpoint with_port(socket_endpoint e, std::uint16_t port);

/// The host without its port, in figures: what connections are counted by. An IPv4 address is one, whatever kind of socket it was
/// seen through.
std::string host_text(const socket_endpoint& e);

} // namespace belay::actors
