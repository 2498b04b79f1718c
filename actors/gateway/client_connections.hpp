#pragma once
// The connections of all clients of one gateway: accepts them, ends them.

#include "actors/gateway/client_admission.hpp"
#include "actors/gateway/http_connection.hpp"
#include "actors/gateway/http_listener.hpp"
#include "actors/gateway/transport/handshake_desk.hpp"
#include "actors/log_brake.hpp"
#include "actors/telemetry/metrics.hpp"
#include "actors/tls/credential_store.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace belay::actors {

/// Whoever introduced himself as a client agent on the server port; what follows is HTTP.
struct client_agent_connection {
  int fd = -1; ///< non-blocking, the receiver's to close
  http::client_agent who;
  std::string address;                 ///< the other end's, without port
  std::optional<tls::channel> channel; ///< none: without TLS
  std::string said;                    ///< behind the introduction, deciphered
};

/// A connection that was accepted by one gateway, to be served by another.
struct accepted_connection {
  int fd = -1; ///< non-blocking, the receiver's to close
  const std::string* address =
      nullptr; ///< as client_admission has admitted it; the receiver tells it when this has left
  bool https = false;
};

/// So many connections as the limit of open files leaves after a reserve for log and peers.
std::size_t connections_allowed();

class client_connections {
public:
  /// @returns true: another gateway serves this one
  using hand_over = std::function<bool(const accepted_connection& c)>;

  /// @param front,limits,m outlive it
  /// @param admission may be that of other gateways, too
  client_connections(http_front& front, const connection_limits& limits, std::shared_ptr<client_admission> admission,
                     metrics& m);

  /// HTTPS is served with these credentials, asked for each connection. @pre before listen()
  void secure_by(std::shared_ptr<tls::https_credential_store> https) { https_ = std::move(https); }
  /// Who else may serve what is accepted here; null: nobody. @pre before listen()
  void share_with(hand_over others) { others_ = std::move(others); }

  /// Accepts connections on these sockets, as soon as the loop runs.
  /// @pre secure_by() was called if one of the sockets is for HTTPS
  void listen(boost::asio::io_context& loop, listening_sockets sockets);
  void stop_listening();
  /// Takes over a connection of a client agent, which has shown who it is.
  void take(boost::asio::io_context& loop, client_agent_connection c);
  /// Takes over a connection that another gateway has accepted.
  void take(boost::asio::io_context& loop, const accepted_connection& c);
  /// The same, but it is closed: this gateway stops.
  void turn_away(const accepted_connection& c);

  /// The front was told that this one is closed.
  void remove(http_connection& c);
  /// Each looks for its deadlines.
  void sweep(monotonic_time now);
  /// Those who hold most give it back, until `front.held` is not exceeded any more.
  void shed();
  /// Each answers what is in flight, blocking queries with `text`, then closes.
  void finish(const std::string& text);
  /// Nothing is in flight, and all answers are sent.
  bool idle() const;
  void close_all();

private:
  http_connection& add(std::shared_ptr<http_connection> c);
  void accepted(boost::asio::io_context& loop, int fd, const std::string& address, bool https);
  void count();
  /// Closes the oldest idle connections of the network that has most. @returns false: none is idle
  bool make_room();
  void tell_room_made(const std::string& network, std::size_t connections, std::size_t closed);
  std::shared_ptr<handshake_desk> desk(boost::asio::io_context& loop);

  http_front& front_;
  const connection_limits& limits_;
  metrics& metrics_;
  std::shared_ptr<client_admission> admission_;
  hand_over others_;
  std::vector<std::shared_ptr<http_listener>> listeners_;
  std::shared_ptr<tls::https_credential_store> https_;
  std::shared_ptr<handshake_desk> desk_;               ///< null: nobody has come by TLS
  std::vector<std::shared_ptr<http_connection>> list_; ///< each at its `place`
  std::size_t counted_ = 0;                            ///< of them, in the metrics
  bool shedding_ = false;
  log_brake brake_;
  std::size_t given_up_untold_ = 0;            ///< idle connections that were closed, and the log does not know it
  std::optional<monotonic_time> room_told_at_; ///< the log was told of them
};

} // namespace belay::actors
