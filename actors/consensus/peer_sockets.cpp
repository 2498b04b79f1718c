#include "actors/consensus/peer_sockets.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cstring>
#include <string_view>

namespace belay::actors {

namespace {

// In the kernel and not sent yet: what is written later waits behind it, heartbeats, too.
constexpr int not_sent_bytes_max = 128 << 10;

} // namespace

std::optional<socket_endpoint> resolved(const char* host, const char* service, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  if (getaddrinfo(host, service, &hints, &found) != 0)
    return std::nullopt;
  socket_endpoint e;
  std::memcpy(&e.bytes, found->ai_addr, found->ai_addrlen);
  e.size = found->ai_addrlen;
  freeaddrinfo(found);
  return e;
}

std::optional<socket_endpoint> numeric_endpoint(const std::string& host, std::uint16_t port, bool passive) {
  return resolved(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(),
                  AI_NUMERICSERV | AI_NUMERICHOST | (passive ? AI_PASSIVE : 0));
}

std::string host_text(const socket_endpoint& e) {
  char text[NI_MAXHOST] = {};
  if (getnameinfo(e.any(), e.size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0)
    return "?";
  constexpr std::string_view mapped = "::ffff:"; // how a socket of IPv6 shows an address of IPv4
  const std::string_view host = text;
  if (host.starts_with(mapped) && host.find('.') != host.npos)
    return std::string(host.substr(mapped.size()));
  return text;
}

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
