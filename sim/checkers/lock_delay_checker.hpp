#pragma once
// Judges lock-delays in true time, which no server knows: who lost a lock because his session ended has all of the
// lock-delay to notice it, whatever clocks show and whoever leads; and when it is over, the lock can be had again.

#include "sim/checkers/kv_model.hpp"
#include "sim/checkers/standing_clocks.hpp"
#include "sim/record/history.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace belay::sim {

struct lock_delay_rules {
  /// False where clocks may run apart by more than is allowed for: then nothing is said.
  bool trust_clocks = true;
  const standing_clocks* clocks = nullptr; ///< null: none ever stands still
};

/// Rules (docs/contract/04, section 3.5; docs/architecture.md, "Time"). A delay begins when the leader makes the entry by
/// which a session ends, for each key that the session held then, and lasts min(LockDelay, 60 s) of cluster time.
/// - Clocks are 10 % fast at most: no entry that gives the key to anybody is made before 10/11 of it have passed.
/// - They are 10 % slow at most. What passes between the last entry of one leader and the first of the next is not counted, nor
///   while all clocks of a node stand still, which may lead: nobody who asks later than 11/10 of it, that time, and one second is
///   refused for the delay.
class lock_delay_checker {
public:
  explicit lock_delay_checker(const kv_model& model, lock_delay_rules rules = {}) : model_(model), rules_(rules) {}

  /// The model has taken that entry. @param made by its leader then, in true time; nullopt: not known
  broken committed(const raft::entry& e, std::optional<virtual_time> made);
  /// There is a leader of that term.
  void led(term_id term) { led_ = std::max(led_, term); }
  /// @pre op.result is not pending
  broken ended(const operation& op) const;

private:
  struct delay {
    std::string session; ///< whose end it follows
    virtual_time begun{0}, length{0};
    virtual_time uncounted{0}; ///< as below, when it began
  };
  struct key_past {
    std::vector<delay> delays; ///< in order
    bool unknown = false;      ///< one began, and it is not known when: nothing is said of this key
  };

  void lost(const std::string& key, const std::string& session, std::optional<virtual_time> made);
  broken granted(const std::string& key, const raft::entry& e, virtual_time made) const;

  const kv_model& model_;
  lock_delay_rules rules_;
  std::map<std::string, key_past, std::less<>> keys_;
  std::size_t changes_ = 0; ///< of the model's changes so many were looked at
  // Of commands:
  std::optional<virtual_time> last_made_;
  term_id last_term_;
  virtual_time uncounted_{0}; ///< all that passed between leaders
  term_id led_;
};

} // namespace belay::sim
