#pragma once
// What the leader does about servers by itself (docs/contract/12, docs/adr/0013): how long a newcomer has to be healthy before
// it votes, which servers that are gone are removed. Who is promoted and demoted by it: formation::next_configuration().

#include "protocol/raft/core.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace belay::raft {

/// What operators want, of the record that is replicated (protocol/state/operators/settings.hpp).
struct autopilot_rules {
  bool cleanup_dead_servers = true;
  std::uint64_t min_quorum = 0;                                 ///< so many voters stay, whoever is removed or demoted
  std::chrono::nanoseconds stabilization{10'000'000'000};       ///< a learner is healthy for so long before it votes
  std::chrono::nanoseconds last_contact_threshold{200'000'000}; ///< silent for longer: not healthy
  std::uint64_t max_trailing_logs = 250;                        ///< behind by more entries: not healthy
};

/// One term of a leader. The times are its own monotonic clock's.
class autopilot {
public:
  void follow(const autopilot_rules& rules) { rules_ = rules; }
  const autopilot_rules& rules() const { return rules_; }

  /// With every tick of a leader, before saw(): what was seen in another term does not count, as nobody looked in between.
  void begin_look(const core& leader, local_time now);
  /// Of each member, with every tick.
  void saw(node_id id, bool healthy);
  /// Its connection broke, as when it is started anew: what was seen of it before does not count.
  void lost(node_id id) { seen_.erase(id); }
  /// Since when that member has been as it is now, healthy or not; nullopt: it has not been seen in this term.
  std::optional<local_time> unchanged_since(node_id id) const;

  /// A learner has been healthy for long enough to vote.
  bool may_vote(node_id learner) const;
  /// So many voters may be left when one is demoted.
  bool enough(std::size_t voters) const { return voters > 0 && voters >= rules_.min_quorum; }
  /// Once in 10 s, as in Consul. @returns true: look for dead servers now
  bool cleanup_is_due();
  /// Who is left without those members, which are dead and not the leader. As in Consul: a dead learner is removed at once;
  /// dead voters only if they are fewer than half of the voters (rounded down) and min_quorum are left.
  /// @returns nullopt: nobody is to be removed
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
