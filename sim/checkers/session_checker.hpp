#pragma once
// Judges sessions over the whole run: when they end, what their renewals are answered, that fences only grow, and that
// the semaphore never has more holders than its limit.

#include "sim/checkers/kv_model.hpp"
#include "sim/checkers/standing_clocks.hpp"
#include "sim/record/history.hpp"

#include <map>
#include <optional>
#include <set>

namespace belay::sim {

struct session_rules {
  /// False where clocks may run apart by more than the leader's lease allows for: then nothing is said about when a
  /// session ends, or about renewals.
  bool trust_clocks = true;
  /// How long a request may be held by a server before it is carried out.
  virtual_time hold{std::chrono::seconds(7)};
  /// Null: none stands still. A leader whose clocks stood still may renew a session that has ended, and counts TTLs that
  /// much longer.
  const standing_clocks* clocks = nullptr;
  /// An exact TTL is counted by the leader's clock, which may be so much faster than true time (docs/adr/0016-claims.md, rule 20).
  double fastest_clock = 1;
};

/// Rules (docs/contract/04, sections 4 and 5; docs/guides/semaphores.md):
/// - a session does not end by its TTL sooner than its TTL after a renewal, or its creation, that was told to be done
/// was asked for;
/// - one that nobody renews ends within twice its TTL (an exact one within its TTL): whoever led for so long by a clock that is 10 % slow, and a second
/// more, makes the entry of its end before it has made other entries for two seconds (gaps of more than a second between entries do not
/// count); and at the end of a run, whose leader is well, it is gone;
/// - a renewal that is told to be done is one of a session that may still have lived, one that is refused is not;
/// - each grant of a lock has a larger fence than every grant of that key before it, and keeps it;
/// - no more sessions hold the semaphore than it allows.
class session_checker {
public:
  explicit session_checker(const kv_model& model, session_rules rules = {}) : model_(model), rules_(rules) {}

  /// The model has taken that entry. @param made by its leader then, in true time; nullopt: not known
  broken committed(const raft::entry& e, virtual_time now, std::optional<virtual_time> made = {});
  /// A leader of that term begins to serve: its timers start.
  void led(term_id term, virtual_time now);
  /// Some node that stood still goes on.
  void resumed(virtual_time now) { resumed_ = now; }
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
    std::optional<virtual_time> timed_out;            ///< ended by its TTL
    virtual_time due{0};                              ///< its life is over
    virtual_time overdue{0};                          ///< time at work when the first entry was made that is later
    std::map<std::uint64_t, virtual_time> unanswered; ///< renewals by operation: they may be carried out until then
  };

  broken judge_renewal(const operation& op);
  bool is_about_to_end(const operation& op, const life& l) const;
  broken judge_fence(const operation& op, const state::kv_op& asked, std::uint64_t fence);
  broken too_soon(const std::string& id, const life& l, virtual_time asked);
  broken too_late(const raft::entry& e, virtual_time made);
  virtual_time stood_since(virtual_time from) const {
    return rules_.clocks == nullptr ? virtual_time::zero() : rules_.clocks->stood_since(from);
  }

  const kv_model& model_;
  session_rules rules_;
  virtual_time led_{0}, resumed_{0};
  std::optional<virtual_time> restored_;       ///< when the newest restore was committed
  virtual_time last_made_{0}, stood_still_{0}; ///< gaps between entries
  std::map<term_id, virtual_time> led_since_;
  virtual_time next_look_{0};
  std::map<std::string, life> lives_;
  std::set<std::string> mortal_;                                     ///< sessions that live and have a TTL
  std::map<std::string, std::map<log_index, std::uint64_t>> fences_; ///< by key and entry of the grant
  std::uint64_t wrongly_released_ = 0;
};

} // namespace belay::sim
