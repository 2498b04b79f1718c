#pragma once
// Somebody who reaches the ports for peers and has credentials that are of no use there, or none: a key that was never in force or is not
// any more, a certificate of another authority, of a client, of another datacenter, one that has expired. He must not be heard.

#include "sim/world/cluster.hpp"

namespace belay::sim {

class uninvited {
public:
  /// @pre nodes have credentials
  uninvited(schedule& time, tape& choices, cluster& nodes) : time_(time), tape_(choices), nodes_(nodes) {}

  /// Knocks from now on, until stop().
  void start();
  void stop() { acting_ = false; }
  std::uint64_t knocks() const { return knocks_; }

  /// With credentials that are drawn. @pre the node runs
  peer_doors::admission knock(std::size_t node, const wire::hello& hello);

private:
  void act();
  credential_facts drawn_credentials();

  schedule& time_;
  tape& tape_;
  cluster& nodes_;
  bool acting_ = false;
  std::uint64_t knocks_ = 0;
};

} // namespace belay::sim
