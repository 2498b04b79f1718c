#pragma once
// The connections of all clients of one gateway: accepts and closes them.

#include "actors/gateway/client_admission.hpp"
#include "actors/gateway/http_connection.hpp"
#include "actors/gateway/http_listener.hpp"
#include "actors/gateway/transport/handshake_limiter.hpp"
#include "actors/log_rate_limiter.hpp"
#include "actors/telemetry/metrics.hpp"
#include "actors/tls/credential_store.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace belay::actors {

/// A connection on the server port whose peer identified itself as a client agent; HTTP follows.
struct client_agent_connection {
  int fd = -1; ///< non-blocking; the receiver has to close it
  http::client_agent who;
  std::string address;                 ///< client's IP address, without port
  std::optional<tls::channel> channel; ///< none: without TLS
  std::string after_hello;             ///< bytes after the hello, decrypted
};

/// A connection that one gateway accepted and another one is to serve.
struct accepted_connection {
  int fd = -1; ///< non-blocking; the receiver has to close it
  /// As returned by client_admission::admit(). The receiver calls leave() with it when the
  /// connection ends.
  const std::string* address = nullptr;
  bool https = false;
};

/// Connections allowed by the limit of open files, minus a reserve for the log and peers.
std::size_t connections_allowed();

class client_connections {
public:
  /// @returns true: another gateway serves this connection
  using share_function = std::function<bool(const accepted_connection& c)>;

  /// @param host,limits,m must outlive this object
  /// @param admission may be shared with other gateways
  client_connections(connection_host& host, const connection_limits& limits,
                     std::shared_ptr<client_admission> admission, metrics& m);

  /// Serves HTTPS with these credentials, read for each connection. @pre before listen()
  void secure_by(std::shared_ptr<tls::https_credential_store> https) { https_ = std::move(https); }
  /// Lets other gateways serve accepted connections; null: none. @pre before listen()
  void share_with(share_function others) { others_ = std::move(others); }

  /// Accepts connections on these sockets as soon as the loop runs.
  /// @pre secure_by() was called if one of the sockets is for HTTPS
  void listen(boost::asio::io_context& loop, listening_sockets sockets);
  void stop_listening();
  /// Takes over a connection of a client agent that has been authenticated.
  void take(boost::asio::io_context& loop, client_agent_connection c);
  /// Takes over a connection that another gateway accepted.
  void take(boost::asio::io_context& loop, const accepted_connection& c);
  /// Closes such a connection, because this gateway stops.
  void reject(const accepted_connection& c);

  /// Call it when the host was notified that this one is closed.
  void remove(http_connection& c);
  /// Each connection checks its deadlines.
  void sweep(monotonic_time now);
  /// Closes the connections with the largest buffers until `host.held` is within its limit.
  void shed();
  /// Each answers what is in flight, blocking queries with `text`, then closes.
  void finish(const std::string& text);
  /// Whether no request is in flight, and all answers are sent.
  bool idle() const;
  void close_all();

private:
  http_connection& add(std::shared_ptr<http_connection> c);
  void accepted(boost::asio::io_context& loop, int fd, const std::string& address, bool https);
  void count();
  /// Closes the oldest idle connections of the network with the most. @returns false: none is idle
  bool close_one();
  void log_space_freed(const std::string& network, std::size_t connections, std::size_t closed);
  std::shared_ptr<handshake_limiter> limiter(boost::asio::io_context& loop);

  connection_host& host_;
  const connection_limits& limits_;
  metrics& metrics_;
  std::shared_ptr<client_admission> admission_;
  share_function others_;
  std::vector<std::shared_ptr<http_listener>> listeners_;
  std::shared_ptr<tls::https_credential_store> https_;
  std::shared_ptr<handshake_limiter> limiter_;         ///< null: no TLS connection yet
  std::vector<std::shared_ptr<http_connection>> list_; ///< each at its `place`
  std::size_t counted_ = 0;                            ///< number of them in the metrics
  bool shedding_ = false;
  log_rate_limiter log_limit_;
  std::size_t given_up_unlogged_ = 0;               ///< idle connections closed and not logged yet
  std::optional<monotonic_time> space_reported_at_; ///< time of the last log line about them
};

} // namespace belay::actors
