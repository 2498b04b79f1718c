#pragma once
// What a server knows only while it leads: its followers, the reads it has to confirm, a transfer that is under way.
// The core makes one of these when it becomes the leader and drops it as a whole when it steps down, so that nothing of
// one leadership is left over for the next.

#include "protocol/raft/follower_progress.hpp"

#include <map>

namespace belay::raft {

/// One question to all voters, "do you still follow me?": the appends that carry its number and their answers
/// (dissertation 6.4). A quorum of answers confirms the reads that wait for it, and extends the lease.
struct read_round {
  std::uint64_t number;
  local_time sent;
  log_index index;                  ///< the commit index when it was sent: what its reads have to see
  std::vector<std::uint64_t> reads; ///< empty: a round for a heartbeat only
};

struct leading {
  log_index term_start;              ///< index of the no-op with which this leader's term began
  std::size_t uncommitted_bytes = 0; ///< of the data of entries of this term that are not committed

  // ---- the other servers
  std::map<node_id, follower_progress> followers; ///< all other members, and for a while those that were removed
  int heartbeat_elapsed = 0;                      ///< ticks since the last heartbeat
  bool heartbeat_due = true;                      ///< the first one goes out at once

  // ---- giving leadership away
  node_id transfer_to; ///< zero: to nobody
  int transfer_ticks = 0;
  bool lease_forfeited = false; ///< somebody may be campaigning at our request (see core::impl::tick_transfer)
  bool retiring = false;        ///< not in the committed configuration any more
  /// It is about to leave, and has no lease any more: until then somebody may serve reads under it who was not told yet.
  std::optional<local_time> lease_withdrawn_until;

  // ---- read rounds and the lease
  std::uint64_t round = 0;                  ///< number of the newest one; they are counted anew in each term
  std::deque<read_round> rounds;            ///< sent and not confirmed yet, oldest first
  std::vector<std::uint64_t> reads_waiting; ///< for a round to take them
  std::optional<local_time> lease_base;     ///< when the newest confirmed round was first sent

  follower_progress* find(node_id id) {
    const auto it = followers.find(id);
    return it == followers.end() ? nullptr : &it->second;
  }
  const follower_progress* find(node_id id) const {
    const auto it = followers.find(id);
    return it == followers.end() ? nullptr : &it->second;
  }
  /// Leadership is on its way to another server: nothing is proposed any more.
  bool handing_over() const { return !transfer_to.is_zero() || retiring; }
};

} // namespace belay::raft
