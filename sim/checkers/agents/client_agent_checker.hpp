#pragma once
// Judges what the leader keeps of client agents, by what operators are told of it (docs/operations.md, "Client agents"; docs/contract/08):
// the check serfHealth of an agent's node, the sessions that hang on it, and that no agent is a member of the Raft configuration.

#include "sim/checkers/kv_model.hpp"
#include "sim/world/cluster.hpp"

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace belay::sim {

/// A disturbance is whatever keeps an agent, the servers or the wires between any of them from working, and each fault by itself. An agent
/// says once a second that it is there, and one such word may be lost with whatever is disturbed.
class client_agent_checker {
public:
  /// @param net that of the servers
  client_agent_checker(const cluster& nodes, const simulated_network& net);

  /// Call it for each entry, when it is first seen to be committed. @param made when the leader wrote it down
  broken committed(const raft::entry& e, virtual_time made);
  /// Call it often. @param last_fault when somebody broke or repaired something last @param renewed when each agent began with another data
  ///   directory, in the order of agents; zero: it did not
  broken look(virtual_time now, virtual_time last_fault, const std::vector<virtual_time>& renewed);
  /// All rows are as they were some time ago: what the leader has seen since is not looked for before a minute is over.
  void restored() { restored_ = true; }

  /// Nothing has disturbed the servers and the wires between them since then, and the same one leads.
  virtual_time quiet_since() const { return quiet_since_; }

  /// In what the catalog differs from which agents run; empty: in nothing.
  std::string difference(const state::machine& catalog) const;

private:
  struct outage {
    virtual_time from, to;
  };
  struct watched {
    std::deque<outage> outages;       ///< the last of them, of the agent or what is around it
    std::optional<virtual_time> dead; ///< no server can hear it, since then
    std::optional<virtual_time> up; ///< it runs, nothing is between it and any server, and none refuses it, since then
    virtual_time fault{0};          ///< the last one that is in `outages`
  };

  bool servers_work() const;
  bool is_unheard(std::size_t node) const;
  bool is_up(std::size_t node) const;
  const state::check_record* liveness_of(const state::machine& catalog, std::size_t node) const;
  bool is_own_row(const state::machine& catalog, std::size_t node) const;
  double slowness(std::size_t leader, std::size_t agent) const;
  broken look_at_configurations() const;
  broken look_at_rows(virtual_time now);

  const cluster& nodes_;
  const simulated_network& net_;
  std::vector<watched> agents_;
  virtual_time now_{0};
  virtual_time quiet_since_{0}; ///< servers and their wires are not disturbed, and one of them leads
  term_id led_in_;
  bool restored_ = false;
};

} // namespace belay::sim
