#pragma once
// Checks lock delays in true time, which no server knows. A holder whose session ended has the
// whole lock delay to notice it, whatever clocks show and whichever server leads. Then it ends.

#include "sim/checkers/kv_model.hpp"
#include "sim/checkers/paused_clocks.hpp"
#include "sim/record/history.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace belay::sim {

struct lock_delay_rules {
  /// False if clocks may drift apart by more than is allowed for: then nothing is checked.
  bool trust_clocks = true;
  const paused_clocks* clocks = nullptr; ///< null: clocks never stop
};

/// Rules (docs/contract/04, section 3.5; docs/internals/architecture.md, "Time"). For each key that a session
/// holds, a delay of min(LockDelay, 60 s) of cluster time begins when the leader makes its end.
/// - Clocks are at most 10 % fast: no entry that grants the key is made before 10/11 have passed.
/// - They are at most 10 % slow. Not counted: from a leader's last entry to the next one's first,
///   and while all clocks of a node, possibly the leader, stop. No acquire is rejected for the
///   delay after 11/10 of it, plus the uncounted time, plus 1 s.
class lock_delay_checker {
public:
  explicit lock_delay_checker(const kv_model& model, lock_delay_rules rules = {}) : model_(model), rules_(rules) {}

  /// The model has taken that entry.
  /// @param made true time at which it was made; nullopt: unknown
  broken committed(const raft::entry& e, std::optional<virtual_time> made);
  /// There is a leader of that term.
  void led(term_id term) { led_ = std::max(led_, term); }
  /// @pre op.result is not pending
  broken ended(const operation& op) const;

private:
  struct delay {
    std::string session; ///< the session that ended
    virtual_time begun{0}, length{0};
    virtual_time uncounted{0}; ///< as below, when it began
  };
  struct key_past {
    std::vector<delay> delays; ///< in order
    bool unknown = false;      ///< a delay began at an unknown time: this key is not checked
  };

  void lost(const std::string& key, const std::string& session, std::optional<virtual_time> made);
  broken granted(const std::string& key, const raft::entry& e, virtual_time made) const;

  const kv_model& model_;
  lock_delay_rules rules_;
  std::map<std::string, key_past, std::less<>> keys_;
  std::size_t changes_ = 0; ///< how many of the model's changes were processed
  // When the last command was made, and by which leader:
  std::optional<virtual_time> last_made_;
  term_id last_term_;
  virtual_time uncounted_{0}; ///< the sum of all gaps between leaders
  term_id led_;
};

} // namespace belay::sim
