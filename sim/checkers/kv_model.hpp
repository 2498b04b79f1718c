#pragma once
// A second implementation of keys and locks, to check responses against. It takes the log entry by
// entry and computes Consul's keys and locks after each (docs/contract/02 to 05). It shares only
// the records with protocol/state. It keeps all versions, to compare responses with any of them.

#include "protocol/raft/types.hpp"
#include "protocol/state/queries.hpp"
#include "sim/checkers/models/acl_model.hpp"
#include "sim/checkers/models/catalog_model.hpp"
#include "sim/checkers/models/claims_model.hpp"
#include "sim/checkers/models/outcomes_model.hpp"
#include "sim/checkers/models/session_model.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace belay::sim {

/// A broken rule with its facts; nullopt: none.
using broken = std::optional<std::string>;

/// The indexes that a read may carry: low <= index <= high. They differ where the contract leaves a
/// choice or the model is in doubt.
struct index_bounds {
  log_index low, high;
  bool contains(log_index i) const { return low <= i && i <= high; }
};

/// One key was created, changed or deleted by that log entry.
struct kv_change {
  log_index index;
  std::string key;
};

/// It models only the parts of the catalog on which sessions depend, and the nodes that only
/// transactions write. When a transaction that the model cannot decide writes a key, such as one
/// with other catalog operations, the model predicts nothing about that key from then on.
class kv_model {
public:
  /// Takes the next committed entry. @pre e.index == applied() + 1
  /// @returns the right response to the proposer; nullopt: not checked.
  std::optional<state::reply> apply(const raft::entry& e);
  log_index applied() const { return applied_; }

  // ---- as of log index s <= applied()
  bool doubtful(std::string_view key, log_index s) const;
  /// Null: there is no such key. @pre not doubtful
  state::kv_entry_ptr entry_at(std::string_view key, log_index s) const;
  /// In ascending order, without the doubtful ones.
  std::vector<state::kv_entry_ptr> entries_at(std::string_view prefix, log_index s) const;
  bool doubtful_under(std::string_view prefix, log_index s) const;
  index_bounds key_index(std::string_view key, log_index s) const;
  index_bounds prefix_index(std::string_view prefix, log_index s) const;
  /// Index of the entry that granted the lock to its holder; zero: not locked.
  log_index granted_at(std::string_view key, log_index s) const;
  /// Never null.
  claims_state_ptr claims_at(log_index s) const;
  const ended_claims& ended() const { return ended_; }
  /// For tests, with machine::limit_claim_ends().
  void limit_claim_ends(end_bounds b) { end_bounds_ = b; }
  void limit_guards(guard_bounds b) { guard_bounds_ = b; }
  /// Since claims are in use, in order of their entries. A restored session may end again.
  const std::vector<modelled_session_end>& session_ends() const { return session_ends_; }
  /// Whether the session, ended by that entry, held the key then and its OnEnd did not remove it.
  bool lost_by_end(const std::string& key, const std::string& session, log_index at) const;
  /// Whether a command about claims was committed: from then on they count
  /// (docs/internals/adr/0016-claims.md).
  bool claims_in_use() const { return claims_in_use_; }
  const session_model& sessions() const { return sessions_; }
  const acl_model& access() const { return access_; }
  const outcomes_model& outcomes() const { return outcomes_; }
  /// The index of the table of sessions.
  log_index session_index(log_index s) const;
  /// nullopt: not checked.
  std::optional<state::txn_reply> read_txn(const state::txn& ops, log_index s) const;

  // ---- authorization, as of log index s: docs/contract/10, sections 1 and 3 (kv_model_access.cpp)
  /// The response to a rejected command; nullopt: accepted. Ignores lock delays in transactions.
  std::optional<state::reply> refuses(const state::command& c, log_index s) const;
  /// The response if the whole query is rejected; nullopt: it is answered, perhaps with fewer rows.
  std::optional<std::string> refuses(const state::query& q, log_index s) const;
  /// @pre not rejected
  bool shows_key(const state::query& q, std::string_view key, log_index s) const;
  /// Whether a token may use that session; an unknown session has no owner.
  bool may_use_session(const std::optional<state::auth_context>& who, const std::string& id, std::string_view wanted,
                       log_index s) const;

  // ---- over time, ascending
  /// The indexes at which restores took effect.
  const std::vector<log_index>& restores() const { return restores_; }
  bool restored_between(log_index after, log_index up_to) const;
  /// @returns at most up_to; zero: none so far
  log_index last_restore(log_index up_to) const;
  /// Changes of keys that are not doubtful.
  const std::vector<kv_change>& changes() const { return changes_; }
  /// Between two of these no read of keys can change its response or its index.
  const std::vector<log_index>& moments() const { return moments_; }
  /// Whether tombstones were reaped at a log index in (after, up_to].
  bool reaped_between(log_index after, log_index up_to) const;

private:
  struct version {
    log_index at;
    state::kv_entry_ptr entry; ///< null: deleted
  };
  struct key_past {
    std::vector<version> versions;
    log_index doubtful_since; ///< zero: never
  };
  struct reap {
    log_index at, up_to;
  };
  /// A restored snapshot. It restores the keys as this model has them at `archive`. The rows in the
  /// log are not read, so the next read reveals a missing or wrong row.
  struct restore {
    log_index at, archive;
  };
  /// A restore in progress, or the last one.
  struct gathering {
    std::string id;
    log_index archive;
    std::uint64_t batches = 0;
    cluster_time touched;
    bool in_force = false;
  };
  struct tree_removal {
    log_index at;
    std::string prefix;
  };
  struct delay {
    log_index since;
    std::uint64_t until; ///< cluster time in ms
  };
  enum class certainty : std::uint8_t { done, failed, open };
  struct step {
    certainty outcome = certainty::done;
    state::kv_entry_ptr entry;              ///< shown by a transaction
    bool shows_unknown = false;             ///< it would show an entry whose state is unknown
    std::string why{};                      ///< reason of a failed operation in a transaction
    std::optional<state::reply> received{}; ///< response of a single operation; nullopt: true or false, without a note
  };
  /// What the current entry has changed so far.
  struct draft {
    log_index index;
    cluster_time time;
    std::vector<std::pair<std::string, state::kv_entry_ptr>> before = {}; ///< row before each change, in order
    std::vector<std::string> graves = {};
    std::vector<std::string> trees = {};       ///< not empty, removed something
    std::vector<std::string> trees_maybe = {}; ///< perhaps
    bool uncertain = false;
    bool went_back = false;                     ///< a restore took effect
    bool claims_changed = false;                ///< something in claims_ or ended_
    std::uint64_t fence_before = 0;             ///< value before a transaction began
    std::vector<std::uint64_t> fences = {};     ///< issued by this entry
    bool lock_given = false;                    ///< granted to a waiting client; a restore may have freed the lock
    std::string client = {};                    ///< as modelled_claim::client, of the command
    std::optional<state::auth_context> by = {}; ///< as modelled_claim::by, of the command
    bool access_changed = false;                ///< a policy, a role or a token
  };
  /// nullopt: not checked
  using received = std::optional<state::reply>;

  using pasts = std::map<std::string, key_past, std::less<>>;

  received carry_out(draft& d, const state::command& c);
  received carry_out_once(draft& d, const state::command& c);
  std::optional<state::reply> run(draft& d, const state::kv_write& c);
  received write_alone(draft& d, const state::kv_op& op, const std::vector<state::fence_ref>& named);
  std::optional<state::reply> run(draft& d, const state::txn& c);
  std::optional<state::reply> run(draft& d, const state::restore_begin& c);
  std::optional<state::reply> run(draft& d, const state::restore_rows& c);
  std::optional<state::reply> run(draft& d, const state::restore_commit& c);
  std::optional<state::reply> run(draft& d, const state::restore_abort& c);
  void go_back(draft& d, log_index archive);
  /// @param now cluster time of the newest entry; nullopt: lock delays are unknown
  std::optional<state::reply> refused_to(const acl_rights_ptr& may, const state::command& c, log_index s,
                                         std::optional<cluster_time> now) const;
  std::optional<state::reply> refused_to(const acl_rights& may, const state::txn& c,
                                         std::optional<cluster_time> now) const;

  // kv_model_claims.cpp
  void begin_claims(draft& d);
  /// Grants the claims that fit.
  void settle(draft& d);
  void settle(draft& d, const state::resource_name& of);
  bool is_disallowed(const state::resource_name& of, const modelled_claim& c) const;
  void end_disallowed(draft& d);
  bool may_still_do(const std::string& session, const state::kv_op& op) const;
  std::optional<received> run_claims(draft& d, const state::command& c);
  received run(draft& d, const state::claim_ask& c);
  received run(draft& d, const state::claim_release& c);
  received run(draft& d, const state::claim_transfer& c);
  received run(draft& d, const state::claim_mode_set& c);
  received run(draft& d, const state::claim_limit_set& c);
  received run(draft& d, const state::claim_limit_unset& c);
  received run(draft& d, const state::kv_acquire& c);
  received run(draft& d, const state::waits_withdraw& c);
  received run(draft& d, const state::fenced_write& c);
  received run(draft& d, const state::guard_set& c);
  received run(draft& d, const state::guard_remove& c);
  bool guard_fits(const draft& d) const;
  received wait_for_key(draft& d, const state::kv_acquire& c, const std::string& session);
  void end_claims_of(draft& d, const state::session_record& s);
  void end_claim(draft& d, const state::resource_name& of, const std::string& id, state::claim_end why);
  void grant(draft& d, const state::resource_name& of, const std::string& id);
  void prune(const state::resource_name& of);
  void end_too_large(draft& d, const state::resource_name& of);
  bool end_fits(const draft& d, const state::resource_name& of, const std::string& id, bool own_id) const;
  bool closes_circle(const std::string& session, const modelled_claim* granted) const;
  void leave_queue(draft& d, const std::string& key, const std::string& session);
  void leave_on_end(draft& d, const state::session_record& s, modelled_session_end& received);
  /// What the session would release at its end, besides its waits.
  std::vector<state::resource_name> held_by(const std::string& session) const;
  bool awaited(const std::string& key) const;
  bool is_free(const draft& d, const std::string& key) const;
  std::string holder_of(const std::string& key) const;
  std::uint64_t new_fence(draft& d);
  bool is_valid(const state::fence_ref& f) const;
  /// The prefix of the first write guard for which none of the fencing tokens is valid.
  std::optional<std::string> guarded(const state::kv_op& op, const std::vector<state::fence_ref>& named) const;
  std::optional<std::string> guarded_from(const state::kv_op& op, const std::string& session) const;
  template <class Opens>
  std::optional<std::string> closed_guard(const state::kv_op& op, Opens opens) const;
  /// Restores claims. @pre everything else has been restored
  void claims_go_back(draft& d, const claims_state& then);
  static state::reply refused_claim(state::claim_error why, std::optional<state::claim_end> ended = {});
  static std::string described(const state::resource_name& of);

  step write_key(draft& d, const state::kv_op& op);
  step store(draft& d, const state::kv_op& op);
  step add(draft& d, const state::kv_op& op);
  step put(draft& d, const state::kv_op& op, std::uint64_t lock_index, const std::string& holder, std::uint64_t grant);
  step lock(draft& d, const state::kv_op& op);
  step unlock(draft& d, const state::kv_op& op);
  /// @param cause as in modelled_session_end
  void end_session(draft& d, const std::string& id, const std::string& cause);
  void keep_delays(const draft& d, log_index archive);
  std::uint64_t delayed_until(std::string_view key) const;
  static std::uint64_t delay_after(const draft& d, const state::session_record& s);
  void remove(draft& d, const std::string& key);
  void remove_tree(draft& d, const std::string& prefix);
  void make_doubtful(draft& d, const std::string& key);
  static void note(std::vector<log_index>& ascending, log_index i);
  void make_doubtful(draft& d, const state::txn& c);
  void undo(draft& d);
  void keep(const draft& d);
  state::kv_entry_ptr live(std::string_view key) const;
  bool any_doubtful_now(std::string_view prefix) const;
  bool in_force(log_index at, log_index s) const;
  /// How to treat what is recorded at the index of a restore: undone by it, or done after it.
  enum class at_restore : std::uint8_t { taken_back, in_force };
  log_index newest_in_force(const std::vector<log_index>& ascending, log_index s,
                            at_restore what = at_restore::taken_back) const;
  log_index table_low(log_index s) const;
  log_index table_high(log_index s) const;

  log_index applied_;
  std::map<std::string, state::kv_entry_ptr, std::less<>> live_;
  pasts pasts_;
  session_model sessions_;
  acl_model access_;
  outcomes_model outcomes_;
  catalog_model catalog_;
  bool claims_in_use_ = false;
  claims_state claims_;
  std::map<log_index, claims_state_ptr> claims_past_; ///< as of each change
  ended_claims ended_;
  end_bounds end_bounds_;
  guard_bounds guard_bounds_;
  std::vector<modelled_session_end> session_ends_;
  std::map<std::string, state::auth_context, std::less<>> left_by_; ///< by session: the token that set its OnEnd
  std::uint64_t last_ticket_ = 0, last_fence_ = 0;
  std::map<std::uint64_t, log_index> fences_; ///< tokens of all past grants: their entries
  std::map<std::string, std::vector<delay>, std::less<>> delays_;
  std::set<std::string, std::less<>> doubtful_;
  std::map<std::string, std::vector<log_index>, std::less<>> tombstones_; ///< all that ever existed
  std::vector<reap> reaps_;
  std::optional<gathering> gathering_;
  log_index restored_at_; ///< the newest restore; zero: none
  std::vector<restore> past_restores_;
  std::vector<log_index> restores_;
  std::vector<tree_removal> tree_removals_;
  std::vector<kv_change> changes_;
  std::vector<log_index> moments_;
  std::vector<log_index> certain_, uncertain_; ///< something changed; something may have
};

/// Compares every field.
bool same_entry(const state::kv_entry& a, const state::kv_entry& b);
/// Compares all that Consul returns: a transaction shows values only where it read.
bool same_reply(const state::reply& a, const state::reply& b);
/// As text.
std::string described(const state::kv_entry& e);

} // namespace belay::sim
