#include "protocol/raft/peer_clocks.hpp"

#include <algorithm>

namespace belay::raft {

namespace {

using std::chrono::milliseconds;

// Longer round trips are too imprecise to be shown.
constexpr std::chrono::seconds round_trip_max{2};
// About 30,000 years: differences of such times cannot overflow.
constexpr std::uint64_t wall_max = std::uint64_t{1} << 50;

} // namespace

clock_sample peer_clocks::sample_for(node_id peer, cluster_time wall, local_time now) const {
  clock_sample sample{static_cast<std::uint64_t>(now.count()), wall, 0, 0};
  if (const auto it = peers_.find(peer); it != peers_.end()) {
    sample.contact_ns = it->second.sent_ns;
    sample.held_ns = static_cast<std::uint64_t>((now - it->second.contact_at).count());
  }
  return sample;
}

std::optional<clock_skew> peer_clocks::received(node_id peer, const clock_sample& sample, cluster_time wall,
                                                local_time now) {
  auto& p = peers_[peer];
  p.sent_ns = sample.sent_ns;
  p.contact_at = now;
  const auto now_ns = static_cast<std::uint64_t>(now.count());
  // Marks of an earlier process, or forged ones, do not refer to this clock.
  if (sample.contact_ns == 0 || sample.contact_ns > now_ns || sample.held_ns > now_ns - sample.contact_ns ||
      sample.wall.value > wall_max || wall.value > wall_max)
    return std::nullopt;
  const auto round_trip = std::chrono::nanoseconds(now_ns - sample.contact_ns - sample.held_ns);
  if (round_trip > round_trip_max)
    return std::nullopt;
  const auto error = std::chrono::ceil<milliseconds>(round_trip / 2);
  const milliseconds skew(static_cast<std::int64_t>(sample.wall.value) - static_cast<std::int64_t>(wall.value));
  p.skew = clock_skew{skew + error, error}; // it was sent half a round trip ago
  return p.skew;
}

std::chrono::milliseconds peer_clocks::largest() const {
  milliseconds most{0};
  for (const auto& [id, p] : peers_)
    if (p.skew)
      most = std::max(most, std::chrono::abs(p.skew->skew));
  return most;
}

} // namespace belay::raft
