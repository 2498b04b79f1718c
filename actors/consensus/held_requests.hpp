#pragma once
// Requests that raft_peer keeps until there is a leader to decide them.

#include "actors/messages.hpp"
#include "actors/refusal_texts.hpp"

#include <deque>

namespace belay::actors {

/// A write (or renewal) on its way to the leader's log.
struct held_write {
  origin from;
  wire::call_kind kind = wire::call_kind::propose;
  payload bytes;
  monotonic_time deadline;
  term_id required_term{}; ///< not zero: proposed in this term or not at all (R25)
};

/// Bounded in count and bytes; in order of arrival.
class held_writes {
public:
  static constexpr std::size_t count_max = 65536;
  static constexpr std::size_t bytes_max = 128u << 20;

  /// @returns false: full, nothing was kept.
  bool add(held_write w) {
    if (writes_.size() >= count_max || bytes_ + w.bytes->size() > bytes_max)
      return false;
    bytes_ += w.bytes->size();
    writes_.push_back(std::move(w));
    return true;
  }

  std::deque<held_write> take_all() {
    bytes_ = 0;
    return std::exchange(writes_, {});
  }

  bool empty() const { return writes_.empty(); }
  std::size_t size() const { return writes_.size(); }

private:
  std::deque<held_write> writes_;
  std::size_t bytes_ = 0;
};

/// Handed to the leader; who it was decides what is known when a connection breaks.
struct forwarded_write {
  held_write write;
  node_id leader;
};

/// A linearizable read of this node's fsm, or of a follower that asks us.
struct held_barrier {
  node_id asker;        ///< this node or a follower
  std::uint64_t id = 0; ///< the asker's
  bool lease_ok = false;
  monotonic_time deadline;
  node_id asked; ///< the leader it was sent to; zero: not sent
};

} // namespace belay::actors
