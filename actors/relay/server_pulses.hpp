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

class server_pulses {
public:
  /// Opens a connection to a server. @returns null: it cannot be dialled now
  using dialler =
      std::function<std::shared_ptr<server_connection>(const std::string& server, server_connection::events)>;

  explicit server_pulses(dialler dial);
  ~server_pulses();

  /// An answer, or a part of one, has arrived from that server.
  void heard(const std::string& server, monotonic_time now);
  /// Call it often. A silent server gets a request that it can answer with or without a leader.
  /// @param owing all servers that owe an answer @returns those that did not answer that request
  std::vector<std::string> look(monotonic_time now, const std::set<std::string>& owing);

private:
  struct pulse;

  void probe(const std::string& server, pulse& p, monotonic_time now);

  dialler dial_;
  std::map<std::string, std::unique_ptr<pulse>> pulses_; ///< by server
};

} // namespace belay::actors
