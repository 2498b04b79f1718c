#pragma once
// How far the wall clocks of other servers are from the own one, measured with frames that both sides send anyway: each
// says when it was sent and repeats what it heard last, as in NTP (RFC 5905, section 8). Nothing is decided by it; it is
// shown to operators.

#include "protocol/raft/core.hpp"

#include <map>
#include <optional>

namespace belay::raft {

/// What a server says of its clocks.
struct clock_mark {
  std::uint64_t sent_ns = 0;  ///< its monotonic clock when this was sent
  cluster_time wall;          ///< its wall clock then, milliseconds since 1970
  std::uint64_t heard_ns = 0; ///< sent_ns of the last mark it got from the receiver; zero: none yet
  std::uint64_t held_ns = 0;  ///< how long ago that was

  bool operator==(const clock_mark&) const = default;
};

/// The peer's wall clock less the own one.
struct clock_skew {
  std::chrono::milliseconds skew{0};
  std::chrono::milliseconds error{0}; ///< the true difference is within skew +- error
};

class peer_clocks {
public:
  clock_mark say(node_id peer, cluster_time wall, local_time now) const;
  /// @returns nullopt: the peer has not heard this node yet, or says what cannot be
  std::optional<clock_skew> heard(node_id peer, const clock_mark& mark, cluster_time wall, local_time now);
  void lost(node_id peer) { peers_.erase(peer); }
  /// The largest skew known of a connected peer, without its sign; zero: none known.
  std::chrono::milliseconds largest() const;

private:
  struct peer_clock {
    std::uint64_t sent_ns = 0;
    local_time heard_at{0};
    std::optional<clock_skew> skew;
  };
  std::map<node_id, peer_clock> peers_;
};

} // namespace belay::raft
