#pragma once
// Compares what servers have about claims, guards and locks that somebody queues for with what the model of claims says at the same log
// index, and looks at what must hold over the whole run whatever the model says: fences rise in the order of grants, and what was told to be
// over never holds or waits again.

#include "sim/checkers/kv_model.hpp"
#include "sim/record/history.hpp"

#include <map>
#include <set>

namespace belay::sim {

/// Times are judged by true time.
class claims_checker {
public:
  explicit claims_checker(const kv_model& model) : model_(model) {}

  /// The model has taken that entry.
  void committed(const raft::entry& e, virtual_time now);
  /// There is a leader: what is due is due by its clock, which begins where the newest entry ended.
  void led(virtual_time now);

  /// A node has applied the log up to that index, as the first one. @pre at <= model.applied()
  broken applied(log_index at, const state::machine& m);
  /// @pre op.committed_at_return is set
  broken ended(const operation& op);
  /// At the end of a run whose leader is well: what is over by then is over in the state, too, although nobody wants anything (rule 13).
  broken finish(virtual_time now) const;

private:
  using claim_name = std::pair<state::resource_name, std::string>;

  broken compare_claims(log_index at, const state::machine& m);
  broken compare_ghosts(log_index at, const state::machine& m) const;
  broken compare_guards(log_index at, const state::machine& m) const;
  broken compare_counts(log_index at, const state::machine& m) const;
  broken compare_session_ends(log_index at, const state::machine& m);
  broken judge_row(log_index at, const state::claim_record& row);
  cluster_time time_of(log_index i) const { return i.is_zero() ? cluster_time{} : times_[i.value - 1]; }

  const kv_model& model_;
  claims_state_ptr compared_;    ///< the last one
  std::size_t session_ends_ = 0; ///< so many of the model's were compared
  log_index newest_compared_;
  std::set<std::uint64_t> held_;   ///< fences of the claims that held when it was looked last
  std::uint64_t newest_given_ = 0; ///< of all that were ever seen
  struct due {
    cluster_time told;
    virtual_time at{0};
  };
  void note_due(const claim_name& what, cluster_time until, const raft::entry& e, virtual_time now);

  claims_state_ptr noted_;
  std::map<claim_name, due> due_; ///< deadlines; of ghosts their fences stand for ids
  virtual_time led_{0};
  /// The end of a claim, as an answer reported it to a client.
  struct told_end {
    log_index by;       ///< at that entry at the latest
    cluster_time since; ///< it ended then or later: its id is rejected for ten minutes
  };
  void note_end(claim_name which, told_end e);

  std::map<claim_name, told_end> over_;
  std::vector<cluster_time> times_; ///< of entries, by index - 1
};

} // namespace belay::sim
