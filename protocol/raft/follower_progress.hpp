#pragma once
// What a leader knows of one other server, and how much it may send there without an answer.

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
  bool paused = false;                  ///< until the next heartbeat: nothing to read, or the follower refused
  bool asked_where = false;             ///< the next answer decides where to go on
  int quiet_ticks = 0;                  ///< since the last answer or chunk read
};

/// Probe: one append at a time until the logs are known to fit. Replicate: a window of appends. Snapshot: no entries at
/// all.
struct follower_progress {
  using state_type = enum progress_view::state;

  state_type state = state_type::probe;
  log_index match; ///< durable there and equal to our log up to here
  log_index next;
  int silent_ticks = 0; ///< since it was last heard
  bool probe_sent = false;
  std::uint64_t round_sent = 0;
  std::uint64_t round_acked = 0;
  log_index told_commit; ///< what it knows of our commit index, if the message arrived
  bool heartbeat_due = false;
  bool commit_due = false;
  /// Not in the newest configuration any more: how many ticks it may still learn of that; negative: it is a member.
  int departing_ticks = -1;
  outgoing_snapshot snapshot;
  bool catching_up = false; ///< got or gets a snapshot and has not been level with us since

  bool window_open(const limits& l) const {
    return flights_.size() < l.inflight_appends_max && flight_bytes_ < l.inflight_bytes_max;
  }
  std::size_t inflight() const { return flights_.size(); }
  void sent(log_index last, std::size_t bytes);
  /// Frees the window up to what is confirmed. @returns true if `match` rose.
  bool confirmed(log_index upto);
  void become_probe(log_index try_next);
  void become_replicate();
  void become_snapshot();

private:
  struct flight {
    log_index last;
    std::size_t bytes;
  };
  std::deque<flight> flights_;
  std::size_t flight_bytes_ = 0;

  void clear_window();
};

} // namespace belay::raft
