#pragma once
// One node's real HTTP gateway without its sockets. Requests pass through the server's own reader,
// router, dispatch and rendering, and return as bytes. Only http_connection and client_connections
// are replaced: sockets, slow clients, connection limits.

#include "actors/gateway/http_gateway.hpp"
#include "sim/environment/connection_numbers.hpp"
#include "sim/run.hpp"

#include <caf/actor.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace belay::sim {

class simulated_gateway {
public:
  /// Bytes for the client. `last`: then the server closes. @returns false: the client disconnects
  using received = std::function<bool(connection_id, std::string_view bytes, bool last)>;

  /// @param m outlives it; `uuid` of the settings is replaced
  simulated_gateway(caf::actor_system& system, const actors::node_actors_ptr& node_actors,
                    actors::gateway_settings settings, actors::metrics& m, received to_clients);
  ~simulated_gateway();
  simulated_gateway(const simulated_gateway&) = delete;
  simulated_gateway& operator=(const simulated_gateway&) = delete;

  const actors::http_gateway_actor& handle() const { return gateway_; }
  /// A caller that uses the gateway while another actor runs passes that actor's context.
  void enter(caf::execution_unit* unit) { real_->context(unit); }
  /// The actor whose mail is the input of the sockets.
  const caf::actor& sockets() const { return sockets_; }

  // ---- clients: all of it reaches the gateway as mail of `sockets`
  /// @param uuid not empty: the id that the gateway gives to what the request creates
  void send(connection_id c, std::string bytes, std::string uuid = {});
  /// The client ends its output and still reads. The server closes after its last response.
  void end_output(connection_id c);
  /// The client also stops reading. Half of the clients reset the connection, which the server sees
  /// at once. Of the others it only sees the end of the input, and responds before it notices.
  void hang_up(connection_id c);
  /// All connections end and receive nothing more. Its actors still run.
  void hang_up_all();
  /// Bytes of that connection are a client agent's from now on.
  void identify(connection_id c, http::client_agent who) { identified_.insert_or_assign(c, std::move(who)); }
  /// Adds a header to a request that an agent forwards: the client's number and the id above.
  static std::string with_client(std::string bytes, connection_id client, const std::string& uuid);

  /// The client whose request was last sent to another actor under that id.
  std::optional<connection_id> asking(request_id id) const;

private:
  class host;
  class connection;

  void arrived(connection_id c, std::string_view bytes, std::string uuid);
  static std::string look_for_client(connection& c, std::string_view bytes);
  void end_of_input(connection_id c, bool gone);
  void sweep();

  actors::http_gateway_actor gateway_;
  actors::http_gateway* real_ = nullptr;
  caf::actor sockets_;
  std::unique_ptr<host> host_;
  received received_;
  std::map<connection_id, std::shared_ptr<connection>> connections_;
  std::map<connection_id, http::client_agent> identified_; ///< agents
  std::string next_uuid_;                                  ///< for the request that is being read
};

} // namespace belay::sim
