#include "tests/harness/notify_socket.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace belay::harness {

notify_socket::notify_socket(const std::string& address) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (address.size() < 2 || address.size() >= sizeof name.sun_path)
    throw std::runtime_error("not an address: " + address);
  std::memcpy(name.sun_path, address.data(), address.size());
  if (address[0] == '@')
    name.sun_path[0] = '\0';
  const auto length = offsetof(sockaddr_un, sun_path) + address.size() + (address[0] == '@' ? 0 : 1);
  fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0 || ::bind(fd_, reinterpret_cast<const sockaddr*>(&name), static_cast<socklen_t>(length)) != 0)
    throw std::runtime_error("cannot listen at " + address);
}

notify_socket::~notify_socket() {
  ::close(fd_);
}

std::string notify_socket::next(milliseconds limit) {
  pollfd waiting{fd_, POLLIN, 0};
  if (::poll(&waiting, 1, static_cast<int>(limit.count())) <= 0)
    return {};
  char text[4096];
  const auto size = ::recv(fd_, text, sizeof text, 0);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

bool notify_socket::received(const std::string& beginning, milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(until - std::chrono::steady_clock::now());
    const auto text = next(std::max(left, milliseconds{0}));
    if (("\n" + text).find("\n" + beginning) != std::string::npos)
      return true;
    if (text.empty() && left.count() <= 0)
      return false;
  }
}

int notify_socket::drain() {
  int taken = 0;
  while (!next(milliseconds{0}).empty())
    ++taken;
  return taken;
}

} // namespace belay::harness
