#include "sim/environment/busy_times.hpp"

namespace belay::sim {

using std::chrono::milliseconds;

namespace {

constexpr std::uint32_t long_per_million = 100'000;

} // namespace

virtual_time busy_times::of(const enlisted& who) {
  if (who.kind == actor_kind::log || who.kind == actor_kind::checkpoints)
    return of_disk(who, {stream_kind::disk, static_cast<std::uint16_t>(256 + who.node)});
  if (swarm_.slow_per_million > 0 && who.node != no_node)
    if (const auto n = tape_.choose_rarely({stream_kind::schedule, 1}, 60, swarm_.slow_per_million); n != 0) {
      // The tables have the longest handlers: whole lists, whole checkpoints.
      const bool long_one =
          !swarm_.frozen && who.kind == actor_kind::fsm && tape_.chance({stream_kind::schedule, 2}, long_per_million);
      return milliseconds(n) * (long_one ? 10 : 1);
    }
  return virtual_time::zero();
}

virtual_time busy_times::of_disk(const enlisted& who, stream s) {
  auto d = swarm_.disk_latency;
  if (who.kind == actor_kind::checkpoints)
    d *= 10;
  else if (who.node == swarm_.slow_disk)
    d *= 8;
  const auto usual = d;
  // Occasionally a sync takes long.
  if (const auto n = tape_.choose_rarely(s, 100, 3'000); n != 0)
    d *= static_cast<std::int64_t>(n);
  auto& disk = nodes_.disk(who.node);
  const auto until = who.kind == actor_kind::checkpoints ? disk.checkpoints_stalled_until() : disk.stalled_until();
  if (until - time_.now() > d) {
    d = until - time_.now();
    if (who.kind == actor_kind::log)
      disk.note_hanging_write(until);
  }
  if (d > usual + noticeable)
    hangs_until_[{who.node, who.kind}] = time_.now() + d;
  return d;
}

} // namespace belay::sim
