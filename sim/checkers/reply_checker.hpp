#pragma once
// Checks every response against the committed log. The response to a write must be what kv_model
// computes at its entry; that to a read must be the state at one entry that its mode allows.

#include "protocol/base/text_hash.hpp"
#include "sim/checkers/kv_model.hpp"
#include "sim/checkers/paused_clocks.hpp"
#include "sim/record/history.hpp"

#include <map>
#include <unordered_map>

namespace belay::sim {

struct reply_rules {
  /// False if clocks may drift apart by more than the leader's lease allows for: default reads are
  /// then checked like stale ones.
  bool trust_lease = true;
  /// default_consistency: default reads are like consistent ones, whatever clocks do.
  bool default_asks_quorum = false;
  /// Null: clocks never stop.
  const paused_clocks* clocks = nullptr;
  /// True if there are writes besides the operations that are reported to this checker.
  bool others_write = false;
};

/// Call committed() for each entry before any node responds with it, and begun() and ended() once
/// for each operation, in the order in which they happen.
class reply_checker {
public:
  explicit reply_checker(reply_rules rules = {}) : rules_(rules) {}

  /// Takes the next entry. Fails on a command that is committed more often than clients sent it
  /// (docs/internals/pitfalls.md J5).
  broken committed(const raft::entry& e);
  /// The highest index in a response to a client.
  log_index known() const { return known_; }
  log_index committed() const { return model_.applied(); }

  /// Sets op.known_at_invocation. @pre op has its write or read, node and node_life
  void begun(operation& op);
  /// @pre op.result is not pending; op.committed_at_return is set
  broken ended(const operation& op);
  /// Call it at the end of the run.
  broken finish() const;

  const kv_model& model() const { return model_; }

private:
  struct logged {
    payload data; ///< null: not a command
    std::optional<state::reply> reply;
    std::uint64_t claimed_by = 0; ///< id of the operation whose response is from this entry
  };
  /// Operations with identical command bytes. Only deletes can be identical.
  struct same_command {
    std::vector<std::uint64_t> requested_by;
    std::size_t may_commit = 0; ///< sent, and neither rejected nor answered without an entry
    std::vector<log_index> entries;
    bool by_clients_only = false; ///< servers never propose such a command
    bool tries_again = false;     ///< when a lock delay is over
  };
  using life_of_node = std::pair<std::size_t, int>; ///< node, life

  bool may_be_stale(const operation& op) const;
  bool like_stale(const operation& op) const;
  bool lease_in_doubt(const operation& op) const;
  broken count(const same_command& c) const;
  broken check_write_reply(const operation& op, same_command& same);
  static bool waited(const operation& op, const state::reply& right);
  broken check_wait(const operation& op);
  broken check_note(const operation& op, const state::reply& right) const;
  broken check_without_entry(const operation& op, same_command& same) const;
  broken check_early_refusal(const operation& op) const;
  broken check_renewal(const operation& op) const;
  broken check_read_reply(const operation& op);
  bool explained_at(const state::query& q, const state::query_result& a, log_index s) const;
  std::optional<log_index> lowest_explanation(const state::query& q, const state::query_result& a, log_index from,
                                              log_index to) const;
  /// Without the outcomes that the token may not see. @pre not rejected
  bool shows_outcome(const state::query& q, const std::string& key, const state::query_result& a, log_index s) const;
  std::vector<state::kv_entry_ptr> shown_to(const state::query& q, const std::string& prefix, log_index s) const;
  /// The first moment at which a response that may be stale can be right.
  log_index seen_before(const operation& op) const;
  /// The first moment from `from` to `to` at which the predicate holds.
  template <class IsSo>
  std::optional<log_index> first_moment(log_index from, log_index to, IsSo is_so) const;
  std::string model_answer(const state::query& q, log_index s) const;

  reply_rules rules_;
  kv_model model_;
  std::vector<logged> log_; ///< entry i at i - 1
  std::unordered_map<std::string, same_command, text_hash, std::equal_to<>> commands_;
  std::unordered_map<std::uint64_t, same_command*> command_of_;
  /// The command that an acquire that would queue becomes where some server does not support
  /// queues.
  std::unordered_map<std::uint64_t, same_command*> plain_of_;
  log_index known_;
  std::map<life_of_node, log_index> seen_at_;                ///< by stale reads there
  std::unordered_map<std::uint64_t, log_index> seen_before_; ///< by operation: seen_at_ when it began
};

} // namespace belay::sim
