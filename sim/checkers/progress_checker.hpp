#pragma once
// Checks how long no write succeeds, knowing the faults in force, which no server does. While a
// majority of the members could elect one of them and write, a leader and writes must come in time.

#include "sim/checkers/kv_model.hpp"
#include "sim/environment/cluster.hpp"
#include "sim/record/history.hpp"

#include <set>
#include <vector>

namespace belay::sim {

/// The conditions for servers to be *able to continue*. The process runs and has nearly everything
/// committed; its disk takes writes and does not hang; the links between them are not cut or slow.
///
/// Rule: Let more than half of the voters of a steady configuration, always the same ones, be
/// able to continue for a whole period. If a client put a key at one of them at its start and keeps
/// trying, some write is done by its end. bound_of() has the length of the period. While ACLs are
/// not in force yet, it takes all voters: the leader needs their feature levels.
class progress_checker {
public:
  progress_checker(schedule& time, cluster& nodes, const simulated_network& net, const swarm& s);

  void begun(const operation& op);
  void ended(const operation& op);
  /// Call often; it checks every 50 ms. @returns the broken rule
  broken look();
  /// The longest time to which the rule applied.
  virtual_time longest() const { return longest_; }

  /// The elections, each of at most two election timeouts, that may fail before one succeeds, plus
  /// the delays of disks and links in this run. Zero: such a run is not checked.
  static virtual_time bound_of(const swarm& s);

private:
  bool works(std::size_t node) const;
  bool reach_each_other(std::size_t a, std::size_t b) const;
  bool is_enough(std::size_t able, std::size_t voters) const;
  bool still_able() const;
  std::vector<std::size_t> able_majority() const;

  schedule& time_;
  cluster& nodes_;
  const simulated_network& net_;
  virtual_time bound_;
  virtual_time next_look_{0};
  std::vector<std::size_t> able_; ///< empty: there is no such majority
  virtual_time able_since_{0};
  std::optional<virtual_time> owed_since_; ///< a put was sent to them, and no write was done since
  std::set<std::uint64_t> pending_;        ///< puts at them
  virtual_time last_requested_{0};
  virtual_time longest_{0};
};

} // namespace belay::sim
