#pragma once
// Barriers of linearizable reads: the index that a read must wait for, to see all that was
// committed before it. A leader asks its quorum, or relies on its lease; a follower asks
// the leader. No clock and no network: an actor passes events and carries out actions.

#include "protocol/base/fresh_numbers.hpp"
#include "protocol/forward/requests.hpp"
#include "protocol/raft/types.hpp"

#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace belay::forward {

/// A barrier for a read of this node, or for a follower that asked this node.
struct queued_barrier {
  node_id asker;        ///< this node or a follower
  std::uint64_t id = 0; ///< the requester's
  bool lease_ok = false;
  local_time deadline{0};
  node_id requested{}; ///< the leader it was sent to; zero: not sent
  bool waits = true;   ///< false: fails at once while there is no leader
};

/// A read of this node: serve it once `index` is applied, or fail it.
struct barrier_done {
  std::uint64_t id = 0;
  bool ok = false;
  log_index index;
};

using barrier_action = std::variant<to_peer, barrier_done, confirm_leadership>;

class pending_barriers {
public:
  /// @param seed of the attempts' numbers; different for each process
  pending_barriers(node_id self, std::uint64_t seed) : self_(self), seed_(seed), attempts_(seed) {}

  // ---- inputs. Call take_actions() after each of them.

  /// Waits for the next go_on().
  void enqueue(queued_barrier b) { waiting_.push_back(std::move(b)); }
  /// A follower's request.
  void requested_by(node_id follower, const read_index& q, bool leading, local_time deadline);
  /// Sends waiting barriers, if there is a leader.
  void go_on(const leadership& now, log_index commit);

  void confirmed(std::uint64_t attempt, log_index index);
  /// Leadership was lost or is uncertain: retried as another attempt (docs/internals/pitfalls.md R11).
  void failed(std::uint64_t attempt);
  /// The leader's reply. Ignored if it comes from another node.
  void answered(node_id from, const read_index_reply& r);

  /// The leader or the term changed. Zero: no leader.
  void leader_changed(node_id leader);
  void peer_lost(node_id peer);
  /// Call it at every tick, and when a leader is known: retries requests that a non-leader
  /// received.
  void ask_again();
  /// Call it at every tick.
  void expire(local_time now);

  /// Actions since the last call, in order.
  std::vector<barrier_action> take_actions() { return std::exchange(actions_, {}); }

  /// Whether no barrier waits for go_on().
  bool none_waiting() const { return waiting_.empty(); }

private:
  void finish(const queued_barrier& b, bool ok, log_index index);
  template <class Lost>
  void wait_again(Lost lost);

  node_id self_;
  std::uint64_t seed_;
  std::vector<barrier_action> actions_;
  std::vector<queued_barrier> waiting_, misdirected_;
  std::unordered_map<std::uint64_t, queued_barrier> requested_; ///< by attempt
  fresh_numbers attempts_;
};

} // namespace belay::forward
