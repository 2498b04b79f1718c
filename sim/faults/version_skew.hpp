#pragma once
// Clients of a newer version than one member: they request a kind of command that the older server
// does not support. No server may propose it.

#include "sim/environment/cluster.hpp"

namespace belay::sim {

class version_skew {
public:
  version_skew(schedule& time, tape& choices, event_trace& trace, cluster& nodes)
      : time_(time), tape_(choices), trace_(trace), nodes_(nodes) {}

  void start();
  void stop() { acting_ = false; }
  std::uint64_t requested() const { return requested_; }

  /// The level of that kind.
  static constexpr state::feature_level level = 1;

private:
  void act();

  schedule& time_;
  tape& tape_;
  event_trace& trace_;
  cluster& nodes_;
  bool acting_ = false;
  std::uint64_t requested_ = 0;
};

} // namespace belay::sim
