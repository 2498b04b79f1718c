#pragma once
// Socket options and helpers of TCP connections between peers.

#include "actors/names/socket_endpoint.hpp"
#include "protocol/base/result.hpp"

#include <chrono>
#include <string_view>

namespace belay::actors {

/// Whether `accepted` is the other end of `dialled`, both sockets of this process.
bool is_other_end(int accepted, int dialled);

/// @param silence_limit unacknowledged data for this long ends the connection (TCP_USER_TIMEOUT)
void set_peer_options(int fd, std::chrono::milliseconds silence_limit);

/// Sends what the socket accepts at once. @returns the number of bytes
std::size_t send_now(int fd, std::string_view bytes);

} // namespace belay::actors
