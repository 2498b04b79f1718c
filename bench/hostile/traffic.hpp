#pragma once
// Basics of a hostile program: connections that it drops on rejection, a rate, and counts.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace belay::hostile {

using steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct target {
  std::string from; ///< address that connections come from, unlike a member's
  std::uint16_t port = 0;
  std::string token;      ///< token in HTTP requests; empty: none
  steady::time_point end; ///< when to stop
  bool over() const { return steady::now() >= end; }
};

struct counts {
  std::atomic<std::uint64_t> connections{0}; ///< that were accepted
  std::atomic<std::uint64_t> messages{0};    ///< forged frames, or invalid requests
  std::atomic<std::uint64_t> bytes{0};       ///< bytes that were sent
};

/// A connection to 127.0.0.1. An error closes it, and all calls on a closed one fail.
class connection {
public:
  connection() = default;
  connection(const target& at, counts& counted) : counted_(&counted) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto mine = endpoint(at.from, 0), its = endpoint("127.0.0.1", at.port);
    if (fd_ < 0 || ::bind(fd_, reinterpret_cast<sockaddr*>(&mine), sizeof mine) != 0 ||
        ::connect(fd_, reinterpret_cast<sockaddr*>(&its), sizeof its) != 0) {
      close();
      return;
    }
    ::fcntl(fd_, F_SETFL, O_NONBLOCK);
    ++counted.connections;
  }
  ~connection() { close(); }
  connection(connection&& o) noexcept : fd_(std::exchange(o.fd_, -1)), counted_(o.counted_) {}
  connection& operator=(connection&& o) noexcept {
    std::swap(fd_, o.fd_);
    std::swap(counted_, o.counted_);
    return *this;
  }

  bool open() const { return fd_ >= 0; }
  void close() {
    if (fd_ >= 0)
      ::close(std::exchange(fd_, -1));
  }

  /// Sends all of it, or closes the connection after no progress for `timeout`.
  bool send(std::string_view bytes, milliseconds timeout = milliseconds{100}) {
    while (open() && !bytes.empty()) {
      const auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n > 0) {
        counted_->bytes += static_cast<std::uint64_t>(n);
        bytes.remove_prefix(static_cast<std::size_t>(n));
      } else if (errno != EAGAIN || !ready(POLLOUT, timeout)) {
        close();
      }
    }
    return open();
  }

  /// What arrives within `timeout`; otherwise empty. Closes when the other side has.
  std::string receive(milliseconds timeout) {
    std::string out(65536, '\0');
    if (!open() || !ready(POLLIN, timeout))
      return {};
    const auto n = ::recv(fd_, out.data(), out.size(), 0);
    if (n <= 0)
      close();
    out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return out;
  }

private:
  static sockaddr_in endpoint(const std::string& address, std::uint16_t port) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(port);
    ::inet_pton(AF_INET, address.c_str(), &out.sin_addr);
    return out;
  }
  bool ready(short what, milliseconds timeout) const {
    pollfd p{fd_, what, 0};
    return ::poll(&p, 1, static_cast<int>(timeout.count())) > 0;
  }

  int fd_ = -1;
  counts* counted_ = nullptr;
};

/// Limits the rate of steps; catches up on missed ones.
class pace {
public:
  explicit pace(double a_second) : step_(static_cast<std::int64_t>(1e9 / a_second)) {}
  void wait() {
    next_ += step_;
    std::this_thread::sleep_until(next_);
  }

private:
  std::chrono::nanoseconds step_;
  steady::time_point next_ = steady::now();
};

} // namespace belay::hostile
