#pragma once
// Judges every answer to a client against the committed log. A write's answer must be what kv_model says at its entry; a
// read's answer must be the state at one entry, no older than the read's consistency mode allows.

#include "protocol/base/text_hash.hpp"
#include "sim/checkers/kv_model.hpp"
#include "sim/checkers/standing_clocks.hpp"
#include "sim/record/history.hpp"

#include <map>
#include <unordered_map>

namespace belay::sim {

struct reply_rules {
  /// False where clocks may run apart by more than the leader's lease allows for: reads in default mode are then judged
  /// like stale ones.
  bool trust_lease = true;
  /// default_consistency: reads in default mode are as consistent ones, whatever clocks do.
  bool default_asks_quorum = false;
  /// Null: none stands still.
  const standing_clocks* clocks = nullptr;
  /// Commands are also given by others than the operations that it is told of.
  bool others_write = false;
};

/// Call committed() for each entry before any node answers by it, begun() and ended() once for each operation, in the
/// order in which it happens.
class reply_checker {
public:
  explicit reply_checker(reply_rules rules = {}) : rules_(rules) {}

  /// The next committed entry. Complains about a command that nobody can have asked for, or not that often (docs/pitfalls.md J5).
  broken committed(const raft::entry& e);
  /// Told to some client.
  log_index known() const { return known_; }
  log_index committed() const { return model_.applied(); }

  /// Sets op.known_at_invocation. @pre op has its write or read, node and node_life
  void begun(operation& op);
  /// @pre op.result is not pending; op.committed_at_return is set
  broken ended(const operation& op);
  /// At the end of the run.
  broken finish() const;

  const kv_model& model() const { return model_; }

private:
  struct logged {
    payload data; ///< null: not a command
    std::optional<state::reply> reply;
    std::uint64_t claimed_by = 0; ///< id of the operation that was told of this entry
  };
  /// Operations whose commands are equal to the byte: all but deletes are alone.
  struct same_command {
    std::vector<std::uint64_t> asked_by;
    std::size_t may_commit = 0; ///< asked and neither refused nor answered without an entry
    std::vector<log_index> entries;
    bool by_clients_only = false; ///< servers never propose such a thing
    bool tries_again = false;     ///< when a lock delay is over
  };
  using place = std::pair<std::size_t, int>; ///< node, life

  bool may_be_stale(const operation& op) const;
  bool like_stale(const operation& op) const;
  bool lease_in_doubt(const operation& op) const;
  broken count(const same_command& c) const;
  broken judge_write(const operation& op, same_command& same);
  static bool waited(const operation& op, const state::reply& right);
  broken judge_wait(const operation& op);
  broken judge_note(const operation& op, const state::reply& right) const;
  broken judge_without_entry(const operation& op, same_command& same) const;
  broken judge_early_refusal(const operation& op) const;
  broken judge_renewal(const operation& op) const;
  broken judge_read(const operation& op);
  bool explained_at(const state::query& q, const state::query_result& a, log_index s) const;
  std::optional<log_index> lowest_explanation(const state::query& q, const state::query_result& a, log_index from,
                                              log_index to) const;
  /// Without those that he may not see who asks. @pre he is not refused
  bool shows_outcome(const state::query& q, const std::string& key, const state::query_result& a, log_index s) const;
  std::vector<state::kv_entry_ptr> shown_to(const state::query& q, const std::string& prefix, log_index s) const;
  /// From which moment on an answer that may be stale may be right.
  log_index seen_before(const operation& op) const;
  /// The first moment from `from` to `to` of which it is true.
  template <class IsSo>
  std::optional<log_index> first_moment(log_index from, log_index to, IsSo is_so) const;
  std::string model_answer(const state::query& q, log_index s) const;

  reply_rules rules_;
  kv_model model_;
  std::vector<logged> log_; ///< entry i at i - 1
  std::unordered_map<std::string, same_command, text_hash, std::equal_to<>> commands_;
  std::unordered_map<std::uint64_t, same_command*> command_of_;
  /// Of an acquire that would queue: what it is where some server does not know queues.
  std::unordered_map<std::uint64_t, same_command*> plain_of_;
  log_index known_;
  std::map<place, log_index> seen_at_;                       ///< by stale reads there
  std::unordered_map<std::uint64_t, log_index> seen_before_; ///< by operation: seen_at_ when it began
};

} // namespace belay::sim
