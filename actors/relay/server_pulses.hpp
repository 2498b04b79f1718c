#pragma once
// Whether the servers that owe a client agent answers still say anything. One whose process or machine stands still keeps its connections:
// TCP never tells.

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

  /// An answer, or a part of one, has come from that server.
  void heard(const std::string& server, monotonic_time now);
  /// Call it often. One that is silent is asked something that every server can answer by itself, with or without a leader.
  /// @param owing all that owe an answer @returns those that have not answered even that
  std::vector<std::string> look(monotonic_time now, const std::set<std::string>& owing);

private:
  struct pulse;

  void probe(const std::string& server, pulse& p, monotonic_time now);

  dialler dial_;
  std::map<std::string, std::unique_ptr<pulse>> pulses_; ///< by server
};

} // namespace belay::actors
