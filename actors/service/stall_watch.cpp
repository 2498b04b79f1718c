#include "actors/service/stall_watch.hpp"

namespace belay::actors {

stall_watch::duration stall_watch::part::stands_still(std::uint64_t seen, time now) {
  if (seen != turns) {
    turns = seen;
    moved = now;
  }
  return now - moved;
}

stall_watch::verdict stall_watch::look(turns seen, time now) {
  verdict v;
  v.front = front_.stands_still(seen.front, now);
  v.raft = raft_.stands_still(seen.raft, now);
  v.front_moves = v.front < limit_ / 2;
  v.raft_moves = v.raft < limit_ / 2;
  return v;
}

} // namespace belay::actors
