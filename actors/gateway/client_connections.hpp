#pragma once
// The connections of all clients of one gateway: accepts them, ends them.

#include "actors/gateway/client_admission.hpp"
#include "actors/gateway/http_connection.hpp"
#include "actors/gateway/http_listener.hpp"
#include "actors/gateway/transport/handshake_desk.hpp"
#include "actors/telemetry/metrics.hpp"
#include "actors/tls/credential_store.hpp"

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

class client_connections {
public:
  /// @param front,limits,m outlive it
  /// @param connections_max 0: what the limit of open files leaves after a reserve for log and peers
  client_connections(http_front& front, const connection_limits& limits, std::size_t connections_max,
                     live_limit per_address_max, metrics& m);

  /// Accepts connections on these sockets, as soon as the loop runs.
  /// @param https asked for each connection to a socket that is for HTTPS. @pre not null if there is such a socket
  void listen(boost::asio::io_context& loop, listening_sockets sockets,
              std::shared_ptr<tls::https_credential_store> https);
  void stop_listening();
  /// Takes over a connection of a client agent, which has shown who it is.
  void take(boost::asio::io_context& loop, client_agent_connection c);

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
  void accepted(int fd, const std::string& address, bool https);

  http_front& front_;
  const connection_limits& limits_;
  metrics& metrics_;
  client_admission admission_;
  std::vector<std::shared_ptr<http_listener>> listeners_;
  std::shared_ptr<tls::https_credential_store> https_;
  std::shared_ptr<handshake_desk> desk_;               ///< null: no HTTPS
  std::vector<std::shared_ptr<http_connection>> list_; ///< each at its `place`
  bool shedding_ = false;
};

} // namespace belay::actors
