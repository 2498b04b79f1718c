#include "protocol/raft/follower_progress.hpp"

#include <algorithm>

namespace belay::raft {

void follower_progress::sent(log_index last, std::size_t bytes, local_time now) {
  flights_.push_back({last, bytes, now});
  flight_bytes_ += bytes;
  next = last.next();
}

bool follower_progress::confirmed(log_index upto) {
  while (!flights_.empty() && flights_.front().last <= upto) {
    flight_bytes_ -= flights_.front().bytes;
    flights_.pop_front();
  }
  next = std::max(next, upto.next());
  if (upto <= match)
    return false;
  match = upto;
  return true;
}

void follower_progress::clear_window() {
  flights_.clear();
  flight_bytes_ = 0;
}

void follower_progress::become_probe(log_index try_next) {
  state = follower_state::probe;
  next = std::max(try_next, match.next());
  probe_sent = false;
  commit_sent = {};
  clear_window();
}

void follower_progress::become_replicate() {
  state = follower_state::replicate;
  snapshot_pause_ticks = 0;
  next = match.next();
  probe_sent = false;
  clear_window();
}

void follower_progress::become_snapshot() {
  catching_up = true;
  state = follower_state::snapshot;
  snapshot = {};
  clear_window();
}

} // namespace belay::raft
