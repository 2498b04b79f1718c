#pragma once
// Detects servers that owe a client agent answers and no longer send. If a process or machine
// is paused, its connections stay open, and TCP reports nothing.

#include "actors/relay/server_connection.hpp"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace belay::actors {

class server_heartbeats {
public:
  /// Opens a connection to a server. @returns null: it cannot be dialled now
  using dialler =
      std::function<std::shared_ptr<server_connection>(const std::string& server, server_connection::events)>;

  explicit server_heartbeats(dialler dial);
  ~server_heartbeats();

  /// An answer, or a part of one, has arrived from that server.
  void received(const std::string& server, monotonic_time now);
  /// Call it often. A silent server gets a request that it can answer with or without a leader.
  /// @param awaited all servers that have not answered a request @returns those that did not answer
  /// that request
  std::vector<std::string> check(monotonic_time now, const std::set<std::string>& awaited);

private:
  struct heartbeat;

  void probe(const std::string& server, heartbeat& p, monotonic_time now);

  dialler dial_;
  std::map<std::string, std::unique_ptr<heartbeat>> heartbeats_; ///< by server
};

} // namespace belay::actors
