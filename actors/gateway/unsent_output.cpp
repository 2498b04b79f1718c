#include "actors/gateway/unsent_output.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace belay::actors {

namespace {

// Buffers of an idle connection: most have none; small ones are kept for the next slow answer.
constexpr std::size_t kept_bytes_max = 1024;

} // namespace

void unsent_output::take(std::string& fresh) {
  if (bytes_.empty()) {
    bytes_.swap(fresh); // no copy, and the small buffer of one goes to the other
  } else if (!fresh.empty()) {
    bytes_ += fresh;
    fresh.clear();
  }
}

unsent_output::outcome unsent_output::send(int fd) {
  while (sent_ < bytes_.size()) {
    const auto n = ::send(fd, bytes_.data() + sent_, bytes_.size() - sent_, MSG_NOSIGNAL);
    if (n >= 0)
      sent_ += static_cast<std::size_t>(n);
    else if (errno == EAGAIN)
      return outcome::blocked;
    else if (errno != EINTR)
      return outcome::broken;
  }
  return outcome::sent;
}

void unsent_output::release(std::string& fresh, std::size_t shared_max) {
  clear();
  if (fresh.capacity() < bytes_.capacity() && bytes_.capacity() <= shared_max)
    bytes_.swap(fresh); // the warm buffer stays with the gateway
  if (bytes_.capacity() > kept_bytes_max)
    bytes_ = std::string();
}

void unsent_output::clear() {
  bytes_.clear();
  sent_ = 0;
}

} // namespace belay::actors
