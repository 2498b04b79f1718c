#include "actors/service/watchdog.hpp"

namespace belay::actors {

watchdog::duration watchdog::part::stalled_for(std::uint64_t seen, time now) {
  if (seen != count) {
    count = seen;
    moved = now;
  }
  return now - moved;
}

watchdog::decision watchdog::look(progress_counts seen, time now) {
  decision v;
  v.http = http_.stalled_for(seen.http, now);
  v.raft = raft_.stalled_for(seen.raft, now);
  v.http_moves = v.http < limit_ / 2;
  v.raft_moves = v.raft < limit_ / 2;
  return v;
}

} // namespace belay::actors
