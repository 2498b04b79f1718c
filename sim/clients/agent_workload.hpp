#pragma once
// Clients of the nodes' agents: they register and deregister services with checks and query agents.
// They know the true state of services; the catalog must finally match (docs/contract/09).

#include "sim/checkers/answer_times.hpp"
#include "sim/clients/http_messages.hpp"
#include "sim/environment/cluster.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace belay::sim {

/// One client at each node, with one change at a time and one query besides it.
class agent_workload {
public:
  agent_workload(schedule& time, tape& choices, event_trace& trace, cluster& nodes, const swarm& s,
                 answer_time_checker& times);

  void start();
  /// From now on no requests are sent, and no service fails or recovers.
  void stop() { acting_ = false; }
  void on_node_gone(std::size_t node);
  void on_disk_lost(std::size_t node);
  /// Used by simulated_probes.
  bool is_well(const std::string& target) const { return !failed_.contains(target); }

  /// @returns false: the client has its response, or has given up
  bool on_bytes(connection_id c, std::string_view bytes, bool last);

  /// Compares the catalog with the registrations and checks that these nodes' agents should have
  /// written. @returns the first difference; empty: none. Call it long enough after stop(), when
  /// every report is outdated.
  std::string difference(const std::set<std::size_t>& nodes, const state::machine& catalog) const;
  /// The first wrong response.
  const broken& complaint() const { return complaint_; }

private:
  enum class kind : std::uint8_t { ttl, tcp };
  struct service {
    bool there = false;
    bool sure = true; ///< the outcome of the last request about it is known
  };
  struct pending {
    connection_id connection = 0; ///< zero: no request is pending
    int life = 0;
    bool question = false;
    std::optional<std::size_t> about; ///< service that is registered or deregistered; nullopt: a report
    bool there = false;               ///< if it succeeds
    std::string answer;
  };
  struct client {
    std::map<std::size_t, service> services;
    pending change, question;
    std::string hash;        ///< hash of the service that was read last
    std::size_t hash_of = 0; ///< its number
    std::string event_index; ///< index of the list of events that was read last
  };

  static kind kind_of(std::size_t number) { return number % 2 == 0 ? kind::ttl : kind::tcp; }
  static std::string id_of(std::size_t number) { return "web-" + std::to_string(number); }
  static std::string target_of(std::size_t node, std::size_t number);

  void step(std::size_t node);
  void question_step(std::size_t node);
  /// @param longest how long the agent may take for it, without the checker's slack
  void ask(std::size_t node, pending p, virtual_time longest, const std::string& request, const std::string& body = {});
  void change(std::size_t node, pending p, const std::string& path, const std::string& body = {}) {
    ask(node, std::move(p), hold_, "PUT " + path, body);
  }
  virtual_time learning_rights(std::size_t node) const;
  void give_up(std::size_t node, pending& p);
  void understand(std::size_t node, const pending& p, const http_answer& a);
  void learn(std::size_t node, const http_answer& a);
  std::string difference_at(std::size_t node, const state::machine& catalog) const;

  schedule& time_;
  tape& tape_;
  event_trace& trace_;
  cluster& nodes_;
  std::chrono::milliseconds timeout_, hold_;
  answer_time_checker& times_;
  swarm swarm_;
  std::vector<client> clients_;  ///< by node
  std::set<std::string> failed_; ///< targets
  connection_id connections_ = counted_from(connections_of::clients_of_agents);
  bool acting_ = false;
  broken complaint_;
};

} // namespace belay::sim
