#pragma once
// Faults of client agents: they end, their hosts are paused, they cannot reach servers, they lose
// their disks. Most of it is repaired before the run requires a correct catalog.

#include "sim/chance/drawn_parts.hpp"
#include "sim/environment/cluster.hpp"

#include <map>
#include <set>
#include <string>

namespace belay::sim {

class agent_nemesis {
public:
  agent_nemesis(schedule& time, tape& choices, event_trace& trace, cluster& nodes, const swarm& s)
      : time_(time), tape_(choices), trace_(trace), nodes_(nodes), swarm_(s) {}

  /// Starts the agents, and begins the faults.
  void start();
  /// No new faults. Repairs everything, except agents that stay down.
  void heal();

  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
  /// Time of the last fault or repair.
  virtual_time last_change() const { return last_change_; }
  /// When the agent got its current data directory; zero: it still has its first one.
  virtual_time renewed(std::size_t node) const;

private:
  void act(std::size_t agent);
  void start_later(std::size_t agent, virtual_time in);
  void cut_links(std::size_t agent);
  void count_fault(const char* what);
  std::uint64_t draw(std::uint64_t n) { return tape_.choose(detail_, n); }

  schedule& time_;
  tape& tape_;
  event_trace& trace_;
  cluster& nodes_;
  swarm swarm_;
  stream detail_; ///< random numbers for the current action
  bool acting_ = false;
  std::uint16_t rounds_ = 0;
  std::set<std::size_t> stay_down_;
  std::map<std::size_t, virtual_time> renewed_;
  std::map<std::string, std::uint64_t> counts_;
  virtual_time last_change_{0};
};

} // namespace belay::sim
