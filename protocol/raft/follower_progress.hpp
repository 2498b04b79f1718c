#pragma once
// A leader's state for one other server: how far its log matches, how to send
// to it (follower_state), and how much may be in flight before it replies.

#include "protocol/raft/core.hpp"

#include <deque>

namespace belay::raft {

/// A checkpoint being sent to one follower. Chunks are read and
/// sent in order; replies say where the follower needs to continue.
struct outgoing_snapshot {
  std::optional<snapshot_meta> meta;    ///< unknown until the first chunk was read
  std::uint64_t read_offset = 0;        ///< next to read
  std::uint64_t wanted = 0;             ///< offset at which the follower continues, according to its last reply
  std::deque<std::uint64_t> chunk_ends; ///< ends of chunks sent, without a reply yet
  bool reading = false;                 ///< a snapshot_read is unanswered
  bool all_read = false;                ///< the last chunk was read
  int paused_ticks = 0;                 ///< ticks until the next attempt: no checkpoint, or the follower rejected it
  bool requested_where = false;         ///< the next reply decides where to continue
  int quiet_ticks = 0;                  ///< since the last reply or chunk read
};

struct follower_progress {

  follower_state state = follower_state::probe;
  log_index match;               ///< durable there and equal to the leader's log up to here
  log_index next;                ///< the first entry to send
  int silent_ticks = 0;          ///< since its last message
  bool probe_sent = false;       ///< until the next heartbeat or a reply
  std::uint64_t round_sent = 0;  ///< the newest read round sent to it
  std::uint64_t round_acked = 0; ///< the newest round it replied to
  log_index commit_sent;         ///< the commit index last sent; the message may be lost
  bool heartbeat_due = false;
  bool commit_due = false; ///< send the commit index without waiting for a heartbeat
  /// Remaining ticks in which a removed server is notified of its removal. Negative: a member.
  int departing_ticks = -1;
  outgoing_snapshot snapshot;
  int snapshot_pause_ticks = 0; ///< after the last rejected snapshot; 0: none since it got entries
  bool catching_up = false;     ///< it needed a snapshot, and has not reached the commit index since

  bool window_open(const limits& l, local_time now) const {
    return flights_.size() < l.inflight_appends_max && flight_bytes_ < l.inflight_bytes_max && !coalesces(l, now);
  }
  /// Whether the last append was so recent that the next one waits (limits::append_gap).
  bool coalesces(const limits& l, local_time now) const {
    return !flights_.empty() && flight_bytes_ < l.coalesced_bytes_max && now - flights_.back().sent < l.append_gap;
  }
  std::size_t inflight() const { return flights_.size(); }
  void sent(log_index last, std::size_t bytes, local_time now);
  /// Frees the window up to what is confirmed. @returns true if `match` rose.
  bool confirmed(log_index upto);
  void become_probe(log_index try_next);
  void become_replicate();
  void become_snapshot();

private:
  struct flight {
    log_index last;
    std::size_t bytes;
    local_time sent;
  };
  std::deque<flight> flights_;
  std::size_t flight_bytes_ = 0;

  void clear_window();
  void check_consistency() const;
};

} // namespace belay::raft
