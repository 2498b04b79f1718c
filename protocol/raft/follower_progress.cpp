#include "protocol/raft/follower_progress.hpp"

#include <algorithm>

namespace belay::raft {

void follower_progress::check_consistency() const {
  INVARIANT(match < next);
  INVARIANT(!flights_.empty() || flight_bytes_ == 0); // or the window would never open again
  INVARIANT(flights_.empty() || state == follower_state::replicate);
  INVARIANT(flights_.empty() || flights_.front().last > match);
  INVARIANT(flights_.empty() || flights_.back().last < next);
}

void follower_progress::sent(log_index last, std::size_t bytes, local_time now) {
  PRECONDITION(last >= next); // an append without entries is not in flight
  flights_.push_back({last, bytes, now});
  flight_bytes_ += bytes;
  next = last.next();
  check_consistency();
}

bool follower_progress::confirmed(log_index upto) {
  while (!flights_.empty() && flights_.front().last <= upto) {
    flight_bytes_ -= flights_.front().bytes;
    flights_.pop_front();
  }
  next = std::max(next, upto.next());
  const bool rose = upto > match;
  match = std::max(match, upto);
  check_consistency();
  return rose;
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
  check_consistency();
}

void follower_progress::become_replicate() {
  state = follower_state::replicate;
  snapshot_pause_ticks = 0;
  next = match.next();
  probe_sent = false;
  clear_window();
  check_consistency();
}

void follower_progress::become_snapshot() {
  catching_up = true;
  state = follower_state::snapshot;
  snapshot = {};
  clear_window();
  check_consistency();
}

} // namespace belay::raft
