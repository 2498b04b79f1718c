#include "actors/names/peer_sockets.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <string>

namespace belay::actors {

namespace {

// In the kernel and not sent yet: what is written later waits for it, heartbeats, too.
constexpr int not_sent_bytes_max = 128 << 10;

} // namespace

bool is_other_end(int accepted, int dialled) {
  socket_endpoint theirs, ours;
  theirs.size = ours.size = sizeof ours.bytes;
  const auto port = [](const socket_endpoint& e) {
    char text[NI_MAXSERV] = {};
    getnameinfo(e.any(), e.size, nullptr, 0, text, sizeof text, NI_NUMERICSERV);
    return std::string(text);
  };
  return getpeername(accepted, reinterpret_cast<sockaddr*>(&theirs.bytes), &theirs.size) == 0 &&
         getsockname(dialled, reinterpret_cast<sockaddr*>(&ours.bytes), &ours.size) == 0 &&
         host_text(theirs) == host_text(ours) && port(theirs) == port(ours);
}

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
