#pragma once
// Judges sessions over the whole run: when they end, what their renewals are answered, that fences only grow, and that
// the semaphore never has more holders than its limit.

#include "sim/checkers/kv_model.hpp"
#include "sim/record/history.hpp"

#include <map>

namespace belay::sim {

struct session_rules {
  /// False where clocks may run apart by more than the leader's lease allows for: then nothing is said about when a
  /// session ends, or about renewals.
  bool trust_clocks = true;
  /// How long a request may be held by a server before it is carried out.
  virtual_time hold{std::chrono::seconds(7)};
};

/// Rules (docs/contract/04, sections 4 and 5; docs/guides/semaphores.md):
/// - a session does not end by its TTL sooner than its TTL after a renewal, or its creation, that was told to be done
/// was asked for;
/// - one that nobody renews ends at twice its TTL, and some slack, after there is a leader;
/// - a renewal that is told to be done is one of a session that may still have lived, one that is refused is not;
/// - each grant of a lock has a larger fence than every grant of that key before it, and keeps it;
/// - no more sessions hold the semaphore than it allows.
class session_checker {
public:
  explicit session_checker(const kv_model& model, session_rules rules = {}) : model_(model), rules_(rules) {}

  /// The model has taken that entry.
  broken committed(const raft::entry& e, virtual_time now);
  void led(virtual_time now) { led_ = now; }
  void begun(const operation& op);
  /// @pre op.committed_at_return is set
  broken ended(const operation& op);
  /// At the end of a run whose leader is well.
  broken finish(virtual_time now) const;

  /// Ends by TTL of sessions that were renewed in time.
  std::uint64_t wrongly_released() const { return wrongly_released_; }

private:
  struct life {
    virtual_time sure{0};  ///< the newest renewal that was told to be done was asked for then
    virtual_time touch{0}; ///< the newest renewal that may have been carried out was so at the latest
    virtual_time born{0};
    std::optional<virtual_time> timed_out; ///< ended by its TTL
  };

  broken judge_renewal(const operation& op);
  broken judge_fence(const operation& op, const state::kv_op& asked, std::uint64_t fence);
  broken too_soon(const std::string& id, const life& l, virtual_time asked);

  const kv_model& model_;
  session_rules rules_;
  virtual_time led_{0};
  std::map<std::string, life> lives_;
  std::map<std::string, std::map<log_index, std::uint64_t>> fences_; ///< by key and entry of the grant
  std::uint64_t wrongly_released_ = 0;
};

} // namespace belay::sim
