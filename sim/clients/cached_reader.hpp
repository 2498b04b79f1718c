#pragma once
// Clients of client agents that accept cached responses (`?cached`), and the rules for these:
// docs/contract/06, section 2, and docs/operate/operations.md, "Client agents".

#include "sim/checkers/agents/least_index.hpp"
#include "sim/checkers/kv_model.hpp"
#include "sim/clients/http_messages.hpp"
#include "sim/environment/cluster.hpp"

#include <optional>
#include <string>
#include <vector>

namespace belay::sim {

/// One client at each agent, with one request at a time.
class cached_reader {
public:
  /// @param watched_within how long a server may take from applying to notifying watchers
  cached_reader(schedule& time, tape& choices, event_trace& trace, cluster& nodes, const swarm& s,
                virtual_time watched_within);

  void start();
  void stop() { acting_ = false; }
  void on_node_gone(std::size_t node);
  /// Call it often.
  /// @param last_fault, quiet_since as in client_agent_checker
  void look(virtual_time last_fault, virtual_time quiet_since);
  /// The tables were those of an archive, however briefly: an agent may have received them.
  void restored();

  /// @returns false: the client has its response, or has given up
  bool on_bytes(connection_id c, std::string_view bytes, bool last);
  /// The first wrong response.
  const broken& complaint() const { return complaint_; }

private:
  enum class subject : std::uint8_t { datacenters, services, count };
  struct client {
    client();

    connection_id connection = 0; ///< zero: no request is pending
    subject about = subject::datacenters;
    std::optional<std::chrono::seconds> max_age;
    virtual_time requested{0};
    std::string answer;
    std::optional<virtual_time> fetched; ///< when the list of datacenters was received from a server
    bool sure = true;                    ///< whether `fetched` is certain
    least_index services;                ///< index of the services, at all servers that the agent is connected to
  };

  void step(std::size_t agent);
  void look_at_servers(std::size_t agent);
  void ask(std::size_t agent, const std::string& path);
  void give_up(std::size_t agent);
  broken check(std::size_t agent, const http_answer& a) const;
  broken check_datacenters(const client& c, bool hit) const;
  broken check_services(const client& c, const http_answer& a) const;

  schedule& time_;
  tape& tape_;
  event_trace& trace_;
  cluster& nodes_;
  virtual_time refreshed_within_;
  std::string token_header_;
  std::vector<client> clients_; ///< by agent
  virtual_time quiet_since_{0};
  connection_id connections_ = counted_from(connections_of::cached_readers);
  bool acting_ = false;
  broken complaint_;
};

} // namespace belay::sim
