#pragma once
// How long the actors of a simulated cluster take for a message: disks have their latency and hang, and in some runs an actor is slow.

#include "sim/world/cluster.hpp"

#include <chrono>
#include <map>
#include <utility>

namespace belay::sim {

/// What takes this much longer than usual is told as a reason for a late convergence.
constexpr std::chrono::milliseconds noticeable{100};

class busy_times {
public:
  busy_times(schedule& time, tape& choices, cluster& nodes, const swarm& s)
      : time_(time), tape_(choices), nodes_(nodes), swarm_(s) {}

  /// schedule::busy
  virtual_time of(const enlisted& who);

  /// The end of the newest call of a disk that takes much longer than others.
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
