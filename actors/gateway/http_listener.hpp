#pragma once
// The sockets that clients connect to: bound while the node starts, served once it is ready.

#include "actors/gateway/socket_poller.hpp"
#include "protocol/base/host_port.hpp"
#include "protocol/base/result.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace belay::actors {

/// Bound and listening sockets that are not served yet. Owned; closed unless released.
class listening_sockets {
public:
  struct one {
    int fd = -1;
    std::string name;      ///< host:port with the real port, or unix:///path
    std::string unix_path; ///< removed when it is closed
    bool https = false;
  };

  listening_sockets() = default;
  listening_sockets(listening_sockets&& other) noexcept : list_(std::move(other.list_)) { other.list_.clear(); }
  listening_sockets& operator=(listening_sockets&& other) noexcept;
  ~listening_sockets() { close(); }

  /// Opens all or none. Port 0: any free one.
  /// @param rights of Unix sockets; in force before any client can connect
  static result<listening_sockets> open(const std::vector<listen_address>& addresses,
                                        const unix_socket_rights& rights = {});

  const std::vector<one>& list() const { return list_; }
  std::vector<one> release() { return std::exchange(list_, {}); }

private:
  void close();
  std::vector<one> list_;
};

/// Accepts connections on one socket, on the loop's thread.
class http_listener : public std::enable_shared_from_this<http_listener> {
public:
  /// Gets a connected non-blocking socket and the client's IP address (empty: Unix socket).
  using accept_handler = std::function<void(int fd, const std::string& address)>;

  http_listener(boost::asio::io_context& loop, listening_sockets::one socket, accept_handler accepted);
  ~http_listener() { stop(); }

  void start() { wait(); }
  /// The handler is not called after this.
  void stop();

private:
  void wait();
  void accept_some();
  void pause(const char* why);

  stream_descriptor socket_;
  boost::asio::steady_timer pause_;
  std::string name_, unix_path_;
  accept_handler accepted_;
  bool complained_ = false;
  bool tight_ = false; ///< the last descriptor was one of the spare ones
};

} // namespace belay::actors
