#pragma once
// Requests at simulated servers that are no operations of a history: each on a connection of its own,
// answered as a whole.

#include "sim/clients/http_messages.hpp"
#include "sim/world/cluster.hpp"
#include "sim/world/event_trace.hpp"
#include "sim/world/schedule.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace belay::sim {

/// What came of a request.
struct exchange_end {
  std::optional<http_answer> answer;
  std::string why; ///< there is no answer
};

class exchanges {
public:
  using heard = std::function<void(exchange_end)>;

  /// @param first_connection the numbers of its connections are counted from there
  exchanges(schedule& time, event_trace& story, cluster& nodes, connection_id first_connection)
      : time_(time), story_(story), nodes_(nodes), last_(first_connection) {}

  bool listens(std::size_t server) const { return nodes_.state(server) != node_state::down; }
  /// @param then is called once, on another turn; or never, after hang_up()
  /// @param uuid as of simulated_gateway::send(). @pre listens(server)
  connection_id send(std::size_t server, std::string bytes, heard then, std::string uuid = {});
  /// A number that is not known, or not any more, does nothing. @returns whether it was known
  bool hang_up(connection_id number);
  /// In the middle of a server's turn: the client receives it afterwards.
  /// @returns false: the connection is over
  bool on_bytes(connection_id number, std::string_view bytes, bool last);
  void on_node_gone(std::size_t server);

private:
  struct exchange {
    std::size_t server;
    std::string bytes; ///< of the answer, as far as it has come
    heard then;
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
