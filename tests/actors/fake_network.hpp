#pragma once
// The connections between simulated nodes: frames travel as bytes, in order, at once, unless a test
// cuts or holds a direction.

#include "actors/interfaces.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::actors::testing {

/// Nodes are numbered from 0. Called only on the thread of the test scheduler.
class fake_network {
public:
  /// A frame that was given to a peer link, whether it arrived or not.
  struct sent_frame {
    std::size_t from, to;
    wire::frame frame;
  };

  /// The node has sent its hello; it is connected to all nodes that it can reach.
  void announce(std::size_t node, node_id id, raft_peer_actor peer, const wire::hello& hello);
  /// Its process is gone: the others' connections break, unless `silent` (a power failure).
  void gone(std::size_t node, bool silent);
  void send(std::size_t from, const send_frames& frames);

  /// Drops frames in that direction; no node is notified.
  void cut(std::size_t from, std::size_t to);
  /// Nodes of different groups cannot communicate.
  void partition(const std::vector<std::vector<std::size_t>>& groups);
  /// All directions work; what was cut becomes a new connection.
  void heal();
  /// Frames in that direction wait, and continue in order with release().
  void hold(std::size_t from, std::size_t to);
  void release();
  /// Both ends see their connection break, and make a new one.
  void reconnect(std::size_t a, std::size_t b);
  /// Delivers a frame as if `from` had sent it.
  void inject(std::size_t from, std::size_t to, const wire::frame& frame);

  /// Frames for which it returns false are dropped. Null: all pass.
  std::function<bool(std::size_t from, std::size_t to, const wire::frame&)> filter;
  bool credentials = false; ///< all connections are encrypted, and their peers authenticated

  /// Frames of one kind that were sent since the start, in order. Raft's own messages are not kept.
  template <class Kind>
  std::vector<std::pair<std::size_t, Kind>> sent(std::size_t to) const {
    std::vector<std::pair<std::size_t, Kind>> found;
    for (const auto& s : sent_)
      if (s.to == to)
        if (const auto* f = std::get_if<Kind>(&s.frame))
          found.emplace_back(s.from, *f);
    return found;
  }
  /// Calls of clients that this node sent or forwarded, without registrations of its agent.
  std::size_t calls_forwarded_by(std::size_t from) const {
    return static_cast<std::size_t>(std::count_if(sent_.begin(), sent_.end(), [from](const sent_frame& s) {
      const auto* call = std::get_if<wire::forward_call>(&s.frame);
      return s.from == from && call != nullptr && gateway_of(call->id) == 0;
    }));
  }

private:
  struct end_point {
    node_id id;
    raft_peer_actor peer;
    wire::hello hello;
  };
  struct direction {
    bool up = false, cut = false, held = false;
    std::deque<std::string> waiting;
    wire::frame_decoder decoder;
  };

  void establish();
  void write(std::size_t from, std::size_t to, const wire::frame& frame);
  void arrive(std::size_t from, std::size_t to, const std::string& bytes);
  void drop(std::size_t from, std::size_t to);

  std::map<std::size_t, end_point> ends_;
  std::map<std::pair<std::size_t, std::size_t>, direction> directions_;
  std::vector<sent_frame> sent_;
};

} // namespace belay::actors::testing
