#pragma once
// A second implementation of keys and locks, to compare the servers' answers with. It takes the committed log entry by entry
// and says what Consul's keys and locks are after each of them (docs/contract/02 to 05). Nothing is shared with
// protocol/state but the records. All versions are kept, so that an answer can be compared with any moment of the log.

#include "protocol/raft/types.hpp"
#include "protocol/state/queries.hpp"
#include "sim/checkers/models/acl_model.hpp"
#include "sim/checkers/models/catalog_model.hpp"
#include "sim/checkers/models/session_model.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace belay::sim {

/// A broken rule with its facts; nullopt: fine.
using broken = std::optional<std::string>;

/// An index that a read may carry: low <= index <= high. They differ where the contract leaves room, or where the model
/// is in doubt.
struct index_bounds {
  log_index low, high;
  bool contains(log_index i) const { return low <= i && i <= high; }
};

/// One key became another one, appeared or went at that log entry.
struct kv_change {
  log_index index;
  std::string key;
};

/// Of the catalog only what sessions hang on, and nodes that only transactions write, are modelled. A key becomes doubtful
/// for good as soon as a transaction with other operations on the catalog, or one whose outcome is not known for another reason, writes it: nothing is said about it
/// from then on.
class kv_model {
public:
  /// Takes the next committed entry. @pre e.index == applied() + 1
  /// @returns what the proposer must be told; nullopt: not judged.
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
  /// Log index of the entry by which its holder got the key; zero: not locked.
  log_index granted_at(std::string_view key, log_index s) const;
  const session_model& sessions() const { return sessions_; }
  const acl_model& access() const { return access_; }
  /// Of the table of sessions.
  log_index session_index(log_index s) const;
  /// nullopt: not judged.
  std::optional<state::txn_reply> read_txn(const state::txn& ops, log_index s) const;

  // ---- in whose name, as of log index s: docs/contract/10, sections 1 and 3 (kv_model_access.cpp)
  /// What is told whose command is not carried out; nullopt: it is. Of transactions without the lock-delays.
  std::optional<state::reply> refuses(const state::command& c, log_index s) const {
    return c.by ? refused_to(access_.rights_of(*c.by, s), c, s, {}) : std::nullopt;
  }
  /// What is told who may not ask at all; nullopt: he is answered, perhaps with fewer rows.
  std::optional<std::string> refuses(const state::query& q, log_index s) const;
  /// @pre not refused
  bool shows_key(const state::query& q, std::string_view key, log_index s) const;
  /// Whose session it is; an unknown one is nobody's.
  bool may_use_session(const std::optional<state::authority>& who, const std::string& id, std::string_view wanted,
                       log_index s) const;

  // ---- over time, ascending
  /// When a restore came into force.
  const std::vector<log_index>& restores() const { return restores_; }
  bool restored_between(log_index after, log_index up_to) const;
  /// Zero: none so far. @returns at most up_to
  log_index last_restore(log_index up_to) const;
  /// Changes of keys that are not doubtful.
  const std::vector<kv_change>& changes() const { return changes_; }
  /// Between two of these no read of keys can change its answer or its index.
  const std::vector<log_index>& moments() const { return moments_; }
  /// Tombstones were forgotten at a log index in (after, up_to].
  bool reaped_between(log_index after, log_index up_to) const;

private:
  struct version {
    log_index at;
    state::kv_entry_ptr entry; ///< null: gone
  };
  struct key_past {
    std::vector<version> versions;
    log_index doubtful_since; ///< zero: never
  };
  struct reap {
    log_index at, up_to;
  };
  /// Of a snapshot. What it brings back are the keys as this model knows them at `archive`: the rows in the log are not
  /// looked at, so that one that is missing or wrong is noticed by the next read.
  struct restore {
    log_index at, archive;
  };
  /// A restore that is being gathered, or the last one.
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
    state::kv_entry_ptr entry;          ///< shown by a transaction
    bool shows_unknown = false;         ///< would show an entry that is doubtful
    std::string why{};                  ///< of a failed one, in a transaction
    std::optional<state::reply> told{}; ///< alone; nullopt: true or false, without a note
  };
  struct draft; ///< what the entry at hand changed so far

  using pasts = std::map<std::string, key_past, std::less<>>;

  std::optional<state::reply> run(draft& d, const state::kv_write& c);
  std::optional<state::reply> run(draft& d, const state::txn& c);
  std::optional<state::reply> run(draft& d, const state::restore_begin& c);
  std::optional<state::reply> run(draft& d, const state::restore_rows& c);
  std::optional<state::reply> run(draft& d, const state::restore_commit& c);
  std::optional<state::reply> run(draft& d, const state::restore_abort& c);
  void go_back(draft& d, log_index archive);
  /// @param now of what is applied now; nullopt: lock-delays are not known
  std::optional<state::reply> refused_to(const acl_rights_ptr& may, const state::command& c, log_index s,
                                         std::optional<cluster_time> now) const;
  std::optional<state::reply> refused_to(const acl_rights& may, const state::txn& c,
                                         std::optional<cluster_time> now) const;
  step write_key(draft& d, const state::kv_op& op);
  step store(draft& d, const state::kv_op& op);
  step put(draft& d, const state::kv_op& op, std::uint64_t lock_index, const std::string& holder, std::uint64_t grant);
  step lock(draft& d, const state::kv_op& op);
  step unlock(draft& d, const state::kv_op& op);
  void end_session(draft& d, const std::string& id);
  void keep_delays(const draft& d, log_index archive);
  std::uint64_t delayed_until(std::string_view key) const;
  static std::uint64_t delay_after(const draft& d, const state::session_record& s);
  void remove(draft& d, const std::string& key);
  void remove_tree(draft& d, const std::string& prefix);
  void make_doubtful(draft& d, const std::string& key);
  void make_doubtful(draft& d, const state::txn& c);
  void undo(draft& d);
  void keep(const draft& d);
  state::kv_entry_ptr live(std::string_view key) const;
  bool any_doubtful_now(std::string_view prefix) const;
  bool in_force(log_index at, log_index s) const;
  log_index newest_in_force(const std::vector<log_index>& ascending, log_index s) const;
  log_index table_low(log_index s) const;
  log_index table_high(log_index s) const;

  log_index applied_;
  std::map<std::string, state::kv_entry_ptr, std::less<>> live_;
  pasts pasts_;
  session_model sessions_;
  acl_model access_;
  catalog_model catalog_;
  std::map<std::string, std::vector<delay>, std::less<>> delays_;
  std::set<std::string, std::less<>> doubtful_;
  std::map<std::string, std::vector<log_index>, std::less<>> tombstones_; ///< all that ever were
  std::vector<reap> reaps_;
  std::optional<gathering> gathering_;
  std::vector<restore> past_restores_;
  std::vector<log_index> restores_;
  std::vector<tree_removal> tree_removals_;
  std::vector<kv_change> changes_;
  std::vector<log_index> moments_;
  std::vector<log_index> certain_, uncertain_; ///< something changed; something may have
};

/// In every field.
bool same_entry(const state::kv_entry& a, const state::kv_entry& b);
/// In all that Consul tells of it: a transaction shows values only where it read.
bool same_reply(const state::reply& a, const state::reply& b);
/// For people.
std::string described(const state::kv_entry& e);

} // namespace belay::sim
