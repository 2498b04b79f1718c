#include "actors/service/service_socket.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace belay::actors {

namespace {

std::string taken(const char* name) {
  const char* value = std::getenv(name);
  std::string out = value != nullptr ? value : "";
  ::unsetenv(name);
  return out;
}

/// A whole number without a sign; 0 if it is anything else.
std::uint64_t number_in(const std::string& text) {
  std::uint64_t out = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), out);
  return wrong == std::errc{} && end == text.data() + text.size() ? out : 0;
}

} // namespace

service_environment service_environment::take() {
  service_environment out;
  out.socket = taken("NOTIFY_SOCKET");
  const auto watchdog = number_in(taken("WATCHDOG_USEC"));
  const auto whose = taken("WATCHDOG_PID");
  // No watchdog is longer than a day; the limit keeps sums of times from overflowing.
  constexpr std::uint64_t longest = 24ull * 3600 * 1000 * 1000;
  if (watchdog > 0 && (whose.empty() || number_in(whose) == static_cast<std::uint64_t>(::getpid())))
    out.watchdog = std::chrono::microseconds(static_cast<std::int64_t>(std::min(watchdog, longest)));
  return out;
}

result<service_socket> service_socket::open(const std::string& address) {
  service_socket out;
  if (address.empty())
    return out;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (address.size() < 2 || (address[0] != '/' && address[0] != '@'))
    return failure{"NOTIFY_SOCKET is neither a path nor an abstract name: " + address};
  if (address.size() >= sizeof name.sun_path)
    return failure{"NOTIFY_SOCKET is too long: " + address};
  std::memcpy(name.sun_path, address.data(), address.size());
  if (address[0] == '@')
    name.sun_path[0] = '\0';
  // A path ends with a zero byte, an abstract name with its last character.
  const auto length = offsetof(sockaddr_un, sun_path) + address.size() + (address[0] == '/' ? 1 : 0);
  out.address_.assign(reinterpret_cast<const char*>(&name), length);
  out.fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (out.fd_ < 0)
    return failure{std::string("no socket for notifications: ") + std::strerror(errno)};
  const timeval timeout{1, 0};
  ::setsockopt(out.fd_, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  return out;
}

service_socket::~service_socket() {
  if (fd_ >= 0)
    ::close(fd_);
}

service_socket::service_socket(service_socket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), address_(std::move(other.address_)) {}

service_socket& service_socket::operator=(service_socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(address_, other.address_);
  return *this;
}

status service_socket::notify(std::string_view lines) const {
  if (fd_ < 0)
    return done{};
  const auto* to = reinterpret_cast<const sockaddr*>(address_.data());
  ssize_t sent = 0;
  do {
    sent = ::sendto(fd_, lines.data(), lines.size(), MSG_NOSIGNAL, to, static_cast<socklen_t>(address_.size()));
  } while (sent < 0 && errno == EINTR);
  if (sent < 0)
    return failure{std::strerror(errno)};
  return done{};
}

} // namespace belay::actors
