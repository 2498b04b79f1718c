#pragma once
// What a leader knows of one other server: how far its log is, in which state it is sent to (follower_state), and how
// much may still be sent before it answers.

#include "protocol/raft/core.hpp"

#include <deque>

namespace belay::raft {

/// A checkpoint on its way to one follower. Chunks are read and sent in order; answers say where the follower wants to
/// go on.
struct outgoing_snapshot {
  std::optional<snapshot_meta> meta;    ///< unknown until the first chunk was read
  std::uint64_t read_offset = 0;        ///< next to read
  std::uint64_t wanted = 0;             ///< where the follower wants to go on, as it last said
  std::deque<std::uint64_t> chunk_ends; ///< of chunks sent and not yet answered
  bool reading = false;                 ///< a snapshot_read is unanswered
  bool all_read = false;                ///< the last chunk was read
  int paused_ticks = 0;                 ///< not begun for so long: nothing to read, or the follower refused
  bool asked_where = false;             ///< the next answer decides where to go on
  int quiet_ticks = 0;                  ///< since the last answer or chunk read
};

struct follower_progress {

  follower_state state = follower_state::probe;
  log_index match;               ///< durable there and equal to the leader's log up to here
  log_index next;                ///< the first entry to be sent
  int silent_ticks = 0;          ///< since it was last heard
  bool probe_sent = false;       ///< until the next heartbeat, or an answer
  std::uint64_t round_sent = 0;  ///< the newest read round it was told of
  std::uint64_t round_acked = 0; ///< the newest one it has answered
  log_index told_commit;         ///< the commit index it was told; the message may be lost
  bool heartbeat_due = false;
  bool commit_due = false; ///< the commit index is to be told without waiting for a heartbeat
  /// Of a server that was removed: for how many ticks more it is told so. Negative: it is a member.
  int departing_ticks = -1;
  outgoing_snapshot snapshot;
  int snapshot_pause_ticks = 0; ///< after the last snapshot that it refused; 0: none since it got entries
  bool catching_up = false;     ///< it needed a snapshot, and has not reached the commit index since

  bool window_open(const limits& l, local_time now) const {
    return flights_.size() < l.inflight_appends_max && flight_bytes_ < l.inflight_bytes_max && !gathers(l, now);
  }
  /// An append went so recently that the next one waits (limits::append_gap).
  bool gathers(const limits& l, local_time now) const {
    return !flights_.empty() && flight_bytes_ < l.gathered_bytes_max && now - flights_.back().sent < l.append_gap;
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
};

} // namespace belay::raft
