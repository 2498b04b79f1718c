#pragma once
// A hostile peer. It reaches the peer ports and knows what a server sends about itself. It sends
// frames that are well-formed and wrong, under an id of its own or a member's. None may have an
// effect, except that they take time. It does not follow the protocol as a real server would.

#include "sim/environment/cluster.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace belay::sim {

class unverified_peer {
public:
  unverified_peer(schedule& time, tape& choices, event_trace& trace, cluster& nodes);

  /// Acts from now on, until stop().
  void start();
  void stop() { acting_ = false; }
  std::uint64_t frames() const { return frames_; }
  /// Whether it is admitted with that hello, if credentials are required. Null: always.
  std::function<peer_doors::admission(std::size_t node, const wire::hello& hello)> let_in;

private:
  void act();
  void send(std::size_t to, node_id from, std::string words, wire::frame what);
  void forge_snapshot(std::size_t to, node_id leader);
  std::uint64_t draw(std::uint64_t n);

  schedule& time_;
  tape& tape_;
  event_trace& trace_;
  cluster& nodes_;
  bool acting_ = false;
  std::uint64_t frames_ = 0;
};

} // namespace belay::sim
