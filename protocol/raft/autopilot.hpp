#pragma once
// The leader's automatic management of servers (docs/contract/12, docs/internals/adr/0013): delays
// votes of new servers, removes dead ones. Promotions and demotions:
// formation::next_configuration().

#include "protocol/raft/core.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace belay::raft {

/// The operators' settings, from the replicated record (protocol/state/operators/settings.hpp).
struct autopilot_rules {
  bool cleanup_dead_servers = true;
  std::uint64_t min_quorum = 0;                           ///< removals and demotions leave at least this many voters
  std::chrono::nanoseconds stabilization{10'000'000'000}; ///< how long a learner must be healthy before it votes
  std::chrono::nanoseconds last_contact_threshold{200'000'000}; ///< a server that is silent for longer is unhealthy
  std::uint64_t max_trailing_logs = 250;                        ///< a server that is further behind is unhealthy
};

/// State of one term of a leader. Times are by its own monotonic clock.
class autopilot {
public:
  void follow(const autopilot_rules& rules) { rules_ = rules; }
  const autopilot_rules& rules() const { return rules_; }

  /// Call at every tick of a leader, before saw(): drops what was observed in another term.
  void begin_look(const core& leader, local_time now);
  /// Call for each member at every tick.
  void saw(node_id id, bool healthy);
  /// Call it when the member's connection broke, for example in a restart: drops the earlier
  /// observations of it.
  void lost(node_id id) { seen_.erase(id); }
  /// When the member became healthy, or unhealthy; nullopt: not observed in this term.
  std::optional<local_time> unchanged_since(node_id id) const;

  /// Whether a learner has been healthy for long enough to vote.
  bool may_vote(node_id learner) const;
  /// Whether this many voters may remain after a demotion.
  bool enough(std::size_t voters) const { return voters > 0 && voters >= rules_.min_quorum; }
  /// Every 10 s, as in Consul. @returns true: look for dead servers now
  bool cleanup_is_due();
  /// The configuration without these dead members (never the leader). As in Consul: dead
  /// learners at once; dead voters if fewer than half (rounded down), and min_quorum remain.
  /// @returns nullopt: remove no server
  std::optional<configuration> without_dead(const configuration& now, const std::set<node_id>& dead) const;

private:
  struct state_of_member {
    bool healthy = false;
    local_time since{0};
  };

  autopilot_rules rules_;
  term_id term_;
  local_time now_{0};
  local_time next_cleanup_{0};
  std::map<node_id, state_of_member> seen_;
};

} // namespace belay::raft
