#pragma once
// Numbers about a node that one actor updates and others read without a message.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace belay::actors {

/// A server's relation to its leader, as it sees it; client agent: whether the servers respond.
enum class cluster_standing : std::uint8_t { alone, follows, leads, relays, cut_off };

struct vitals {
  static constexpr std::size_t http_threads_max = 16; ///< HTTP threads

  /// Time of the last message from the leader, in nanoseconds of the node's monotonic clock; 0:
  /// never. raft_peer sets it. While this server leads, it is the current time on every tick.
  std::atomic<std::int64_t> leader_contact_ns{0};
  /// The commit index, stored before this server sends a message that carries it. Another server
  /// may answer clients from the entry at this index before this server has applied it.
  std::atomic<std::uint64_t> committed_index{0};
  std::atomic<std::uint64_t> applied_index{0};
  /// A digest of the state machine and its applied index (stored in this order, for display only).
  std::atomic<std::uint64_t> digest{0};
  std::atomic<std::uint64_t> digest_index{0};
  /// Progress counters of the HTTP threads and of Raft. The first rise each time sockets were
  /// polled after a tick of http_gateway, the second with each tick of raft_peer.
  std::array<std::atomic<std::uint64_t>, http_threads_max> http_rounds{};
  std::atomic<std::uint64_t> raft_rounds{0};
  std::size_t http_threads = 1; ///< number in use, from the first on. Constant once shared
  std::atomic<cluster_standing> standing{cluster_standing::alone};
  bool has_raft = true; ///< false: a client agent. Constant once shared
  /// The newest checkpoint reads back different from what was written.
  std::atomic<bool> checkpoint_unproven{false};
  /// Counts of this node's agent.
  std::atomic<std::uint32_t> agent_services{0}, agent_checks{0}, agent_ttls{0}, agent_monitors{0};

  /// The lowest counter of the HTTP threads: if one thread stalls, this soon stops rising.
  std::uint64_t fewest_http_rounds() const {
    auto fewest = UINT64_MAX;
    for (std::size_t i = 0; i < http_threads; ++i)
      fewest = std::min(fewest, http_rounds[i].load(std::memory_order_relaxed));
    return fewest;
  }
};

} // namespace belay::actors
