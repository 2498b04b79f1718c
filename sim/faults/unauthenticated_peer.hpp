#pragma once
// An intruder at the peer ports without valid credentials: a key never or no longer in force, or a
// certificate of another authority, of a client, of another datacenter, or expired. All must fail.

#include "sim/environment/cluster.hpp"

namespace belay::sim {

class unauthenticated_peer {
public:
  /// @pre nodes have credentials
  unauthenticated_peer(schedule& time, tape& choices, cluster& nodes) : time_(time), tape_(choices), nodes_(nodes) {}

  /// Connects again and again from now on, until stop().
  void start();
  void stop() { acting_ = false; }
  std::uint64_t attempts() const { return attempts_; }

  /// Connects with drawn credentials. @pre the node runs
  peer_doors::admission connect(std::size_t node, const wire::hello& hello);

private:
  void act();
  credential_facts drawn_credentials();

  schedule& time_;
  tape& tape_;
  cluster& nodes_;
  bool acting_ = false;
  std::uint64_t attempts_ = 0;
};

} // namespace belay::sim
