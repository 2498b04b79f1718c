#pragma once
// One node's real HTTP gateway without its sockets: what clients send goes through the server's reader of requests, its
// router, dispatch and rendering, and comes back as bytes. Imitated is what http_connection and client_connections do
// beside that: sockets, slow clients, limits of connections.

#include "actors/gateway/http_gateway.hpp"
#include "sim/run.hpp"
#include "sim/world/connection_numbers.hpp"

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
  /// Bytes for the client. `last`: the server closes the connection behind them. @returns false: the client hangs up
  using heard = std::function<bool(connection_id, std::string_view bytes, bool last)>;

  /// @param m outlives it; of the settings `uuid` is made here
  simulated_gateway(caf::actor_system& system, const actors::wiring_ptr& wires, actors::gateway_settings settings,
                    actors::metrics& m, heard to_clients);
  ~simulated_gateway();
  simulated_gateway(const simulated_gateway&) = delete;
  simulated_gateway& operator=(const simulated_gateway&) = delete;

  const actors::http_gateway_actor& handle() const { return gateway_; }
  /// Whoever calls something of the gateway on another turn than its own says on whose.
  void enter(caf::execution_unit* turn) { real_->context(turn); }
  /// The actor whose mail is what arrives at the sockets.
  const caf::actor& sockets() const { return sockets_; }

  // ---- what clients do; it reaches the gateway as mail of `sockets`
  /// @param uuid not empty: the id that the gateway gives to what the request makes, in place of a random one
  void send(connection_id c, std::string bytes, std::string uuid = {});
  /// The client sends nothing more, and takes what comes. The server closes behind it.
  void end_output(connection_id c);
  /// The client takes nothing, either. Half of them the server sees gone at once (a reset); of the others it knows only that they send no
  /// more, and answers them before it notices.
  void hang_up(connection_id c);
  /// All connections are over: nobody hears anything more. Its actors still run.
  void hang_up_all();
  /// From now on bytes of that connection are those of a client agent.
  void introduce(connection_id c, http::client_agent who) { introduced_.insert_or_assign(c, std::move(who)); }
  /// A request, for an agent that passes it on: with a header that tells the server's end whose it is, and the id above.
  static std::string with_client(std::string bytes, connection_id client, const std::string& uuid);

  /// Whose request another actor was asked about under that id last.
  std::optional<connection_id> asking(request_id id) const;

private:
  class front;
  class connection;

  void arrived(connection_id c, std::string_view bytes, std::string uuid);
  static std::string look_for_client(connection& c, std::string_view bytes);
  void end_of_input(connection_id c, bool gone);
  void sweep();

  actors::http_gateway_actor gateway_;
  actors::http_gateway* real_ = nullptr;
  caf::actor sockets_;
  std::unique_ptr<front> front_;
  heard heard_;
  std::map<connection_id, std::shared_ptr<connection>> connections_;
  std::map<connection_id, http::client_agent> introduced_; ///< agents
  std::string next_uuid_;                                  ///< for the request that is being read
};

} // namespace belay::sim
