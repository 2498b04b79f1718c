#pragma once
// A few numbers about a node that one of its actors keeps current and others read without asking it by a message.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace belay::actors {

/// How a server stands to the leader of its cluster, as it takes it; a client agent: whether the servers answer it.
enum class cluster_standing : std::uint8_t { alone, follows, leads, relays, cut_off };

struct vitals {
  static constexpr std::size_t fronts_max = 16; ///< threads that serve clients

  /// When the leader was last heard, in nanoseconds of the node's monotonic clock; 0: never. raft_peer sets it with each message of
  /// the leader; while it leads itself, to now with every tick.
  std::atomic<std::int64_t> leader_heard_ns{0};
  /// The commit index, stored before this server sends a message that carries it. Another server may answer clients from the
  /// entry at this index before this server has applied it.
  std::atomic<std::uint64_t> committed_index{0};
  std::atomic<std::uint64_t> applied_index{0};
  /// A digest of the state machine and the applied index it belongs to (written in that order of fields, read for display only).
  std::atomic<std::uint64_t> digest{0};
  std::atomic<std::uint64_t> digest_index{0};
  /// Rise as long as the threads of clients and of Raft move: each time sockets were looked at after a tick of http_gateway, and with
  /// each tick of raft_peer.
  std::array<std::atomic<std::uint64_t>, fronts_max> front_turns{};
  std::atomic<std::uint64_t> raft_turns{0};
  std::size_t fronts = 1; ///< of those, from the first. Not changed once others know of it
  std::atomic<cluster_standing> standing{cluster_standing::alone};
  bool has_raft = true; ///< false: a client agent. Not changed once others know of it
  /// The newest checkpoint read back different from what was written.
  std::atomic<bool> checkpoint_unproven{false};
  /// Of this node's agent.
  std::atomic<std::uint32_t> agent_services{0}, agent_checks{0}, agent_ttls{0}, agent_monitors{0};

  /// Of the thread of clients that has had the fewest: if one stands still, this soon does.
  std::uint64_t fewest_front_turns() const {
    auto fewest = UINT64_MAX;
    for (std::size_t i = 0; i < fronts; ++i)
      fewest = std::min(fewest, front_turns[i].load(std::memory_order_relaxed));
    return fewest;
  }
};

} // namespace belay::actors
