#pragma once
// Checks sessions over the whole run: when they end, and the responses to renewals. Fencing tokens
// must only grow, and the semaphore must never have more holders than its limit.

#include "sim/checkers/kv_model.hpp"
#include "sim/checkers/paused_clocks.hpp"
#include "sim/record/history.hpp"

#include <map>
#include <optional>
#include <set>

namespace belay::sim {

struct session_rules {
  /// False if clocks may drift apart by more than the leader's lease allows for: then neither ends
  /// of sessions nor renewals are checked.
  bool trust_clocks = true;
  /// How long a server may queue a request before it carries it out.
  virtual_time queue_timeout{std::chrono::seconds(7)};
  /// Null: clocks never stop. A leader whose clocks stopped may renew a session that has ended, and
  /// its TTLs last that much longer.
  const paused_clocks* clocks = nullptr;
  /// How fast the leader's clock, which counts exact TTLs, may be; 1: not faster than true time
  /// (docs/internals/adr/0016-claims.md rule 20).
  double fastest_clock = 1;
};

/// Rules (docs/contract/04, sections 4 and 5; docs/guides/semaphores.md):
/// - A session does not end by its TTL sooner than one TTL after the request of its creation or
///   of a renewal that was reported done.
/// - A session without renewals ends within twice its TTL (exact: its TTL). A server that led this
///   long by a clock 10 % slow, and 1 s more, makes its end before it has made others for 2 s
///   (gaps of more than 1 s do not count). At the end of a run, with a healthy leader, it is gone.
/// - A renewal is reported done only if the session was alive at some moment of the request, and
///   rejected only if it was not alive all that time.
/// - Each grant of a lock has a larger fencing token than earlier ones of that key and keeps it.
/// - No more sessions hold the semaphore than it allows.
class session_checker {
public:
  explicit session_checker(const kv_model& model, session_rules rules = {}) : model_(model), rules_(rules) {}

  /// The model has taken that entry.
  /// @param made true time at which it was made; nullopt: unknown
  broken committed(const raft::entry& e, virtual_time now, std::optional<virtual_time> made = {});
  /// A leader of that term begins to serve: its timers start.
  void led(term_id term, virtual_time now);
  /// Some paused node resumes.
  void resumed(virtual_time now) { resumed_ = now; }
  void begun(const operation& op);
  /// @pre op.committed_at_return is set
  broken ended(const operation& op);
  /// Call it at the end of a run, with a healthy leader.
  broken finish(virtual_time now) const;

  /// Ends by TTL of sessions that were renewed in time.
  std::uint64_t wrongly_released() const { return wrongly_released_; }

private:
  struct life {
    virtual_time sure{0};  ///< when the newest renewal that was reported done was sent
    virtual_time touch{0}; ///< the latest time at which a renewal may have been carried out
    virtual_time born{0};
    std::optional<virtual_time> timed_out;            ///< ended by its TTL
    virtual_time due{0};                              ///< its TTL is over
    virtual_time overdue{0};                          ///< time at work when the first later entry was made
    std::map<std::uint64_t, virtual_time> unanswered; ///< renewals by operation: they may be carried out until then
  };

  broken check_renewal(const operation& op);
  bool is_about_to_end(const operation& op, const life& l) const;
  broken check_fence(const operation& op, const state::kv_op& requested, std::uint64_t fence);
  broken too_soon(const std::string& id, const life& l, virtual_time requested);
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
