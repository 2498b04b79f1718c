#pragma once
// The connections of client agents to the server ports: bytes in both directions, in order, until
// an end is gone or nothing gets through for too long. Both ends run the real code, TLS included.

#include "actors/consensus/peer_handshake.hpp"
#include "actors/tls/credential_store.hpp"
#include "protocol/wire/frame_codec.hpp"
#include "sim/environment/connection_numbers.hpp"
#include "sim/environment/schedule.hpp"

#include <boost/system/error_code.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::sim {

class agent_connections {
public:
  using id = connection_id;

  /// The agent's end: callbacks of its socket, called at once and not on the agent's thread.
  class agent_end {
  public:
    virtual ~agent_end() = default;
    virtual void connected(boost::system::error_code e) = 0;
    virtual void arrived(std::string_view bytes) = 0;
    virtual void ended(boost::system::error_code e) = 0;
  };

  agent_connections(schedule& time, event_trace& trace) : time_(time), trace_(trace) {}

  virtual_time latency{std::chrono::microseconds(100)};

  // ---- the servers' ends
  /// nullopt: no server is at that address.
  std::function<std::optional<std::size_t>(const std::string& address)> server_at;
  std::function<bool(std::size_t server)> listens;
  /// The server's process is paused: it accepts connections, as its kernel does, and reads nothing.
  std::function<bool(std::size_t server)> paused;
  /// The credentials that a server requires of a connection accepted now. Null: servers have none.
  std::function<tls::credentials_ptr(std::size_t server)> demands;
  /// The server's end of a connection before the handshake: its requirements, and the result.
  struct admission {
    std::size_t agent = 0, server = 0;
    virtual_time dialled{0}, accepted{0};
    bool in = false;
    bool encrypted = false;
    std::string why; ///< the reason of a rejection
  };
  /// Called for each connection that a server has accepted or rejected; null if `demands` is.
  std::function<void(const admission& a)> admitted;
  /// The peer has shown in its handshake that it is an agent.
  std::function<void(std::size_t server, id connection, const wire::hello& hello)> identified;
  std::function<void(std::size_t server, id connection, std::string bytes)> received;
  std::function<void(std::size_t server, id connection)> output_ended;
  std::function<void(std::size_t server, id connection)> hung_up;
  /// Whether the connection is an agent's connection to a server port.
  static bool owns(id connection) { return owner_of(connection) == connections_of::client_agents; }
  /// Sends a response. `last`: then the server closes. @returns false: the agent receives no more
  bool answer(id connection, std::string_view bytes, bool last);

  // ---- the agents' ends
  id dial(std::size_t agent, const std::string& address, std::weak_ptr<agent_end> end);
  void send(id connection, std::string bytes);
  /// Ends the agent's output; responses of the server still arrive.
  void end_output(id connection);
  void close(id connection);

  // ---- faults
  bool is_connected(std::size_t agent, std::size_t server) const;
  /// Nothing gets through in that direction. Connections break if that outlasts the silence.
  void cut(std::size_t from, std::size_t to);
  void mend(std::size_t from, std::size_t to);
  void mend_all();
  bool is_cut_to(std::size_t from, std::size_t to) const { return cut_.contains({from, to}); }
  bool is_cut(std::size_t a, std::size_t b) const { return is_cut_to(a, b) || is_cut_to(b, a); }
  /// The process at one end has ended. The other notices at once or, if `power`, after the silence.
  void gone(std::size_t node, bool power);
  /// A paused server continues: it reads what arrived meanwhile.
  void resumed(std::size_t server);

private:
  struct direction {
    virtual_time last_arrival{0};
    std::vector<std::string> held; ///< sent while cut, or arrived at a paused server
    bool ends = false;             ///< to a server: the next end that arrives is the end of the agent's output only
  };
  struct connection {
    std::size_t agent = 0, server = 0;
    std::weak_ptr<agent_end> end;
    bool open = false; ///< the agent's end was notified
    bool server_gone = false, agent_gone = false;
    virtual_time dialled{0}, accepted{0};
    std::optional<actors::peer_handshake> door; ///< none: not open yet, or the handshake is complete
    bool identified = false;
    std::optional<tls::channel> channel; ///< at the server's end; none: without TLS
    direction to_server, to_agent;
  };

  connection* find(id c);
  void accept(id c);
  void travel(id c, bool to_server, std::string bytes);
  void arrive(id c, bool to_server, const std::string& bytes);
  void read(id number, connection& c, const std::string& bytes);
  void identify(id number, connection& c, const std::string& bytes);
  void refuse(id number, connection& c);
  void break_up(id c, boost::system::error_code why);
  bool blocked(const connection& c, bool to_server) const;

  schedule& time_;
  event_trace& trace_;
  tls::credentials_ptr none_ = tls::credential_store().now();
  std::map<id, connection> connections_;
  std::map<std::pair<std::size_t, std::size_t>, virtual_time> cut_; ///< directions that are cut, and since when
  id numbers_ = counted_from(connections_of::client_agents);
};

} // namespace belay::sim
