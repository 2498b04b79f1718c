#pragma once
// Judges how long nobody's write succeeds, knowing what no server knows: which faults are in force. As long as a majority of
// the members could elect one of them and write, there has to be a leader, and writes, within a stated time.

#include "sim/checkers/kv_model.hpp"
#include "sim/record/history.hpp"
#include "sim/world/cluster.hpp"

#include <set>
#include <vector>

namespace belay::sim {

/// What must not be the matter with a server, and with the wires between two, for the servers to be *able to go on*: the
/// process runs and has nearly all that is committed, its disk takes writes and does not hang; the wires are not cut, and
/// no slower than all of the run.
///
/// Rule: when more than half of the voters of a settled configuration have been able to go on for the whole of a time, and
/// the same of them, and a client put a key at one of them at its beginning, and goes on to try, then by its end a write
/// was done somewhere. How long it is follows from the settings of the run: bound_of().
/// Where ACLs have not begun yet it takes all voters, since the leader has to know what each of them understands.
class progress_checker {
public:
  progress_checker(schedule& time, cluster& nodes, const simulated_network& net, const swarm& s);

  void begun(const operation& op);
  void ended(const operation& op);
  /// Call often; it looks every 50 ms. @returns the broken rule
  broken look();
  /// The longest time that the rule was about.
  virtual_time longest() const { return longest_; }

  /// Elections, each of two election time-outs at most, that may fail before one succeeds; then what the disks and wires
  /// of this run take. Zero: nothing is said about such a run.
  static virtual_time bound_of(const swarm& s);

private:
  bool works(std::size_t node) const;
  bool hear_each_other(std::size_t a, std::size_t b) const;
  bool is_enough(std::size_t able, std::size_t voters) const;
  bool still_able() const;
  std::vector<std::size_t> able_majority() const;

  schedule& time_;
  cluster& nodes_;
  const simulated_network& net_;
  virtual_time bound_;
  virtual_time next_look_{0};
  std::vector<std::size_t> able_; ///< empty: no majority is
  virtual_time able_since_{0};
  std::optional<virtual_time> owed_since_; ///< a put was asked of them, and no write was done since
  std::set<std::uint64_t> pending_;        ///< puts at them
  virtual_time last_asked_{0};
  virtual_time longest_{0};
};

} // namespace belay::sim
