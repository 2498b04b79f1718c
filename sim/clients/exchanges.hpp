#pragma once
// Requests to simulated servers that are not operations of a history: each on a connection of its
// own, and answered as a whole.

#include "sim/clients/http_messages.hpp"
#include "sim/environment/cluster.hpp"
#include "sim/environment/event_trace.hpp"
#include "sim/environment/schedule.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace belay::sim {

/// The result of a request.
struct exchange_end {
  std::optional<http_answer> answer;
  std::string why; ///< why there is no response
};

class exchanges {
public:
  using received = std::function<void(exchange_end)>;

  /// @param first_connection its connections are numbered from there
  exchanges(schedule& time, event_trace& story, cluster& nodes, connection_id first_connection)
      : time_(time), story_(story), nodes_(nodes), last_(first_connection) {}

  bool listens(std::size_t server) const { return nodes_.state(server) != node_state::down; }
  /// @param then is called once, not from this call; or never, after hang_up()
  /// @param uuid as of simulated_gateway::send(). @pre listens(server)
  connection_id send(std::size_t server, std::string bytes, received then, std::string uuid = {});
  /// Does nothing for a number that is unknown, or no longer known. @returns whether it was known
  bool hang_up(connection_id number);
  /// Called while a server handles a message: the client receives the bytes afterwards.
  /// @returns false: the connection is over
  bool on_bytes(connection_id number, std::string_view bytes, bool last);
  void on_node_gone(std::size_t server);

private:
  struct exchange {
    std::size_t server;
    std::string bytes; ///< bytes of the response received so far
    received then;
  };
  using pending = std::map<connection_id, exchange>;

  void finish(pending::iterator e, exchange_end end);

  schedule& time_;
  event_trace& story_;
  cluster& nodes_;
  connection_id last_;
  pending pending_;
};

} // namespace belay::sim
