#pragma once
// How long simulated actors need for a message: disks have latency and hang; some actors are slow.

#include "sim/environment/cluster.hpp"

#include <chrono>
#include <map>
#include <utility>

namespace belay::sim {

/// A delay this much longer than usual is reported as a reason for a late convergence.
constexpr std::chrono::milliseconds noticeable{100};

class busy_times {
public:
  busy_times(schedule& time, tape& choices, cluster& nodes, const swarm& s)
      : time_(time), tape_(choices), nodes_(nodes), swarm_(s) {}

  /// The duration of the next message, for schedule::busy.
  virtual_time of(const enlisted& who);

  /// When the newest disk call ends that takes much longer than others.
  const std::map<std::pair<std::size_t, actor_kind>, virtual_time>& hangs_until() const { return hangs_until_; }

private:
  virtual_time of_disk(const enlisted& who, stream s);

  schedule& time_;
  tape& tape_;
  cluster& nodes_;
  const swarm& swarm_;
  std::map<std::pair<std::size_t, actor_kind>, virtual_time> hangs_until_;
};

} // namespace belay::sim
