#pragma once
// TCP sockets between peers: their addresses and options.

#include "protocol/base/result.hpp"

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace belay::actors {

struct socket_endpoint {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  const sockaddr* any() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

/// The first of what getaddrinfo finds, which may wait for a name server unless `flags` say otherwise. Null: no host, no port.
std::optional<socket_endpoint> resolved(const char* host, const char* service, int flags);

/// nullopt: `host` is not an address but a name. Empty with `passive`: all addresses of the machine.
std::optional<socket_endpoint> numeric_endpoint(const std::string& host, std::uint16_t port, bool passive = false);

/// The host without its port, in figures: what connections are counted by. An IPv4 address is one, whatever kind of socket it was
/// seen through.
std::string host_text(const socket_endpoint& e);

/// Whether `accepted` is the other end of `dialled`, both sockets of this process.
bool is_other_end(int accepted, int dialled);

/// @param silence_limit unacknowledged data for so long ends the connection (TCP_USER_TIMEOUT)
void set_peer_options(int fd, std::chrono::milliseconds silence_limit);

/// Sends what the socket takes at once. @returns how much that was
std::size_t send_now(int fd, std::string_view bytes);

} // namespace belay::actors
