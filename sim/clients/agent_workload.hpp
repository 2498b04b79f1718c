#pragma once
// Clients of the nodes' agents: they register services with checks, report for them, take them away, and ask what the agents know; and
// what the services are really like. At the end of a run the catalog has to say the same (docs/contract/09, "Anti-entropy").

#include "sim/checkers/answer_times.hpp"
#include "sim/clients/http_messages.hpp"
#include "sim/world/cluster.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace belay::sim {

/// One client at each node, which wants one change at a time, and asks one question beside it.
class agent_workload {
public:
  agent_workload(schedule& time, tape& choices, event_trace& trace, cluster& nodes, const swarm& s,
                 answer_time_checker& times);

  void start();
  /// Nothing is asked for, and no service fails or recovers, from now on.
  void stop() { acting_ = false; }
  void on_node_gone(std::size_t node);
  void on_disk_lost(std::size_t node);
  /// For simulated_probes.
  bool is_well(const std::string& target) const { return !failed_.contains(target); }

  /// @returns false: the client has what it wants, or has given up
  bool on_bytes(connection_id c, std::string_view bytes, bool last);

  /// In what the catalog differs from what the agents of these nodes were told and should have found; empty: in nothing. Long
  /// enough after stop(): every report is out of date by then.
  std::string difference(const std::set<std::size_t>& nodes, const state::machine& catalog) const;
  /// The first answer that must not be.
  const broken& complaint() const { return complaint_; }

private:
  enum class kind : std::uint8_t { ttl, tcp };
  struct service {
    bool there = false;
    bool sure = true; ///< the outcome of the last request about it is known
  };
  struct pending {
    connection_id connection = 0; ///< zero: nothing is asked for
    int life = 0;
    bool question = false;
    std::optional<std::size_t> about; ///< service that is registered or taken away; nullopt: a report
    bool there = false;               ///< if it succeeds
    std::string answer;
  };
  struct client {
    std::map<std::size_t, service> services;
    pending change, question;
    std::string hash;        ///< of the service that was read last
    std::size_t hash_of = 0; ///< its number
    std::string event_index; ///< of the list of events that was read last
  };

  static kind kind_of(std::size_t number) { return number % 2 == 0 ? kind::ttl : kind::tcp; }
  static std::string id_of(std::size_t number) { return "web-" + std::to_string(number); }
  static std::string target_of(std::size_t node, std::size_t number);

  void turn(std::size_t node);
  void question_turn(std::size_t node);
  /// @param longest that the agent may take for it, without the checker's slack
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
  std::chrono::milliseconds patience_, hold_;
  answer_time_checker& times_;
  swarm swarm_;
  std::vector<client> clients_;  ///< by node
  std::set<std::string> failed_; ///< targets
  connection_id connections_ = counted_from(connections_of::clients_of_agents);
  bool acting_ = false;
  broken complaint_;
};

} // namespace belay::sim
