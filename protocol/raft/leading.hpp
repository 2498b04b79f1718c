#pragma once
// State that a server has only while it leads: its followers, the reads to confirm, a
// transfer in progress. The core creates it when it becomes leader, and drops it as a whole when it
// steps down. So nothing of one leadership is left over for the next.

#include "protocol/raft/follower_progress.hpp"

#include <map>

namespace belay::raft {

/// A round of appends that ask all voters "do you still follow me?": they and the replies carry
/// its number (dissertation 6.4). A quorum of replies confirms waiting reads, extends the lease.
struct read_round {
  std::uint64_t number;
  local_time sent;
  log_index index;                  ///< the commit index when it was sent: its reads must see it
  std::vector<std::uint64_t> reads; ///< empty: a round for a heartbeat only
};

struct leading {
  log_index term_start;              ///< index of this leader's no-op, the first entry of its term
  std::size_t uncommitted_bytes = 0; ///< entry data of this term that is not committed

  // ---- the other servers
  std::map<node_id, follower_progress> followers; ///< all other members and, for a while, removed ones
  int heartbeat_elapsed = 0;                      ///< ticks since the last heartbeat
  bool heartbeat_due = true;                      ///< the first one is sent at once

  // ---- transfer of leadership
  node_id transfer_to; ///< zero: no transfer
  int transfer_ticks = 0;
  bool lease_forfeited = false; ///< a server may campaign at this leader's request (see core::impl::tick_transfer)
  bool retiring = false;        ///< no longer in the committed configuration
  /// Set when this leader will leave the configuration and has given up its lease: until then,
  /// reads may still be served under the old lease.
  std::optional<local_time> lease_withdrawn_until;

  // ---- read rounds and the lease
  std::uint64_t round = 0;                  ///< number of the newest one; counted from the beginning of each term
  std::deque<read_round> rounds;            ///< sent and not confirmed yet, oldest first
  std::vector<std::uint64_t> reads_waiting; ///< for the next round
  std::optional<local_time> lease_base;     ///< when the newest confirmed round was first sent

  follower_progress* find(node_id id) {
    const auto it = followers.find(id);
    return it == followers.end() ? nullptr : &it->second;
  }
  const follower_progress* find(node_id id) const {
    const auto it = followers.find(id);
    return it == followers.end() ? nullptr : &it->second;
  }
  /// Whether leadership is being transferred: nothing more is proposed.
  bool handing_over() const { return !transfer_to.is_zero() || retiring; }
};

} // namespace belay::raft
