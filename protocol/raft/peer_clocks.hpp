#pragma once
// Measures how far other servers' wall clocks differ from this server's, with frames that are sent
// anyway. Each frame carries its send time and echoes the last one received, as in NTP (RFC 5905,
// section 8). No decision depends on it; it is shown to operators.

#include "protocol/raft/core.hpp"

#include <map>
#include <optional>

namespace belay::raft {

/// A server's clocks, as sent in a frame.
struct clock_sample {
  std::uint64_t sent_ns = 0;    ///< its monotonic clock when this was sent
  cluster_time wall;            ///< its wall clock then, milliseconds since 1970
  std::uint64_t contact_ns = 0; ///< sent_ns of the last mark it got from the receiver; zero: none yet
  std::uint64_t held_ns = 0;    ///< how long ago that was

  bool operator==(const clock_sample&) const = default;
};

/// The peer's wall clock minus this server's.
struct clock_skew {
  std::chrono::milliseconds skew{0};
  std::chrono::milliseconds error{0}; ///< the true difference is within skew +- error
};

class peer_clocks {
public:
  clock_sample sample_for(node_id peer, cluster_time wall, local_time now) const;
  /// @returns nullopt: the peer has not received a mark yet, or sent an impossible one
  std::optional<clock_skew> received(node_id peer, const clock_sample& sample, cluster_time wall, local_time now);
  void lost(node_id peer) { peers_.erase(peer); }
  /// The largest known absolute skew of a connected peer; zero: none known.
  std::chrono::milliseconds largest() const;

private:
  struct peer_clock {
    std::uint64_t sent_ns = 0;
    local_time contact_at{0};
    std::optional<clock_skew> skew;
  };
  std::map<node_id, peer_clock> peers_;
};

} // namespace belay::raft
