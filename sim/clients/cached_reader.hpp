#pragma once
// Clients of client agents that are content with an earlier answer (`?cached`), and what such answers may be: docs/contract/06, section 2,
// and docs/operations.md, "Client agents".

#include "sim/checkers/answer_times.hpp"
#include "sim/clients/http_messages.hpp"
#include "sim/world/cluster.hpp"

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace belay::sim {

/// One client at each agent, which asks one thing at a time.
class cached_reader {
public:
  /// @param net of the servers
  cached_reader(schedule& time, tape& choices, event_trace& trace, cluster& nodes, answer_time_checker& times,
                const network_faults& net);

  void start();
  void stop() { acting_ = false; }
  void on_node_gone(std::size_t node);
  /// Call it often. @param last_fault, quiet_since as client_agent_checker has them
  void look(virtual_time last_fault, virtual_time quiet_since);

  static bool owns(connection_id c) { return c >= first_connection; }
  /// @returns false: the client has what it wants, or has given up
  bool on_bytes(connection_id c, std::string_view bytes, bool last);
  /// The first answer that must not be.
  const broken& complaint() const { return complaint_; }

private:
  // Between those of operators and those of agents themselves.
  static constexpr connection_id first_connection = connection_id{1} << 51;

  enum class subject : std::uint8_t { datacenters, services, count };
  struct client {
    connection_id connection = 0; ///< zero: nothing is asked
    subject about = subject::datacenters;
    std::optional<std::chrono::seconds> max_age;
    virtual_time asked{0};
    std::string answer;
    std::optional<virtual_time> fetched; ///< when the list of datacenters came from a server
    bool sure = true;                    ///< of that
  };
  /// Of the list of services, as the leader has it.
  struct moment {
    virtual_time since;
    log_index index;
  };

  void turn(std::size_t agent);
  void ask(std::size_t agent, const std::string& path);
  void give_up(std::size_t agent);
  broken judge(std::size_t agent, const http_answer& a) const;
  broken judge_datacenters(const client& c, bool hit) const;
  broken judge_services(const client& c, const http_answer& a) const;

  schedule& time_;
  tape& tape_;
  event_trace& trace_;
  cluster& nodes_;
  answer_time_checker& times_;
  virtual_time refreshed_within_;
  std::vector<client> clients_; ///< by agent
  std::deque<moment> moments_;
  virtual_time quiet_since_{0};
  connection_id connections_ = 0;
  bool acting_ = false;
  broken complaint_;
};

} // namespace belay::sim
