#pragma once
// Checks the leader's rows of client agents (docs/operate/operations.md, "Client agents";
// contract/08): serfHealth of the agent's node, and its sessions. No agent may be in the Raft
// configuration.

#include "sim/checkers/kv_model.hpp"
#include "sim/environment/cluster.hpp"

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace belay::sim {

/// A disturbance is each fault, and anything that keeps an agent, the servers or the links between
/// them from working. An agent reports once a second; each disturbance may lose one such report.
class client_agent_checker {
public:
  /// @param net the network of the servers
  client_agent_checker(const cluster& nodes, const simulated_network& net);

  /// Call it for each entry, when it is first committed.
  /// @param made when the leader made it
  broken committed(const raft::entry& e, virtual_time made);
  /// Call it often.
  /// @param last_fault time of the last fault or repair
  /// @param renewed by agent, the time when it began with another data directory; zero: it did not
  broken look(virtual_time now, virtual_time last_fault, const std::vector<virtual_time>& renewed);
  /// A restore has set all rows to an earlier state. The leader compares them again within a
  /// minute.
  void restored() { restored_ = true; }

  /// Since then nothing disturbs the servers and their links, and the same server leads.
  virtual_time quiet_since() const { return quiet_since_; }

  /// How the catalog differs from the agents that run; empty: it does not.
  std::string difference(const state::machine& catalog) const;

private:
  struct outage {
    virtual_time from, to;
  };
  struct watched {
    std::deque<outage> outages;       ///< the last ones, of the agent or its surroundings
    std::optional<virtual_time> dead; ///< since then, no server can be reached from it
    std::optional<virtual_time> up;   ///< since then, it runs, reaches all servers, and none rejects it
    virtual_time fault{0};            ///< the last one that is in `outages`
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
  virtual_time quiet_since_{0}; ///< servers and their links are undisturbed, and one of them leads
  term_id led_in_;
  bool restored_ = false;
};

} // namespace belay::sim
