#include "actors/consensus/peer_sockets.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>

namespace belay::actors {

namespace {

// In the kernel and not sent yet: what is written later waits behind it, heartbeats, too.
constexpr int not_sent_bytes_max = 128 << 10;

} // namespace

void set_peer_options(int fd, std::chrono::milliseconds silence_limit) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &not_sent_bytes_max, sizeof not_sent_bytes_max);
  const auto limit = static_cast<unsigned>(silence_limit.count());
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
}

std::size_t send_now(int fd, std::string_view bytes) {
  const auto n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

} // namespace belay::actors
