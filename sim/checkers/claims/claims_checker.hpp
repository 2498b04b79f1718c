#pragma once
// Compares the servers' claims, write guards and queued locks with the claims model at the same
// index. Over the whole run, fencing tokens rise in the order of grants, and a claim whose end was
// reported never holds or waits again.

#include "sim/checkers/kv_model.hpp"
#include "sim/record/history.hpp"

#include <map>
#include <set>

namespace belay::sim {

/// All times are true times.
class claims_checker {
public:
  explicit claims_checker(const kv_model& model) : model_(model) {}

  /// Call it after the model has applied that entry.
  void committed(const raft::entry& e, virtual_time now);
  /// There is a new leader. Its clock, which continues from the newest entry, decides what is due.
  void led(virtual_time now);

  /// A node is the first to have applied the log up to that index. @pre at <= model.applied()
  broken applied(log_index at, const state::machine& m);
  /// @pre op.committed_at_return is set
  broken ended(const operation& op);
  /// Call it at the end of a run with a healthy leader. Expired claims must have ended, even in an
  /// idle cluster (rule 13).
  broken finish(virtual_time now) const;

private:
  using claim_name = std::pair<state::resource_name, std::string>;

  broken compare_claims(log_index at, const state::machine& m);
  broken compare_ghosts(log_index at, const state::machine& m) const;
  broken compare_guards(log_index at, const state::machine& m) const;
  broken compare_counts(log_index at, const state::machine& m) const;
  broken compare_session_ends(log_index at, const state::machine& m);
  broken check_row(log_index at, const state::claim_record& row);
  cluster_time time_of(log_index i) const { return i.is_zero() ? cluster_time{} : times_[i.value - 1]; }

  const kv_model& model_;
  claims_state_ptr compared_;    ///< the last one
  std::size_t session_ends_ = 0; ///< number of the model's ends that were compared
  log_index newest_compared_;
  std::set<std::uint64_t> held_;   ///< fencing tokens of the claims that held at the last check
  std::uint64_t newest_given_ = 0; ///< the largest ever seen
  struct due {
    cluster_time received;
    virtual_time at{0};
  };
  void note_due(const claim_name& what, cluster_time until, const raft::entry& e, virtual_time now);

  claims_state_ptr noted_;
  std::map<claim_name, due> due_; ///< deadlines; for holders in their lock delay the token replaces the id
  virtual_time led_{0};
  /// The end of a claim, as a response reported it to a client.
  struct sent_end {
    log_index by;       ///< ended at that entry or before
    cluster_time since; ///< it ended then or later: its id is rejected for ten minutes
  };
  void note_end(claim_name which, sent_end e);

  std::map<claim_name, sent_end> over_;
  std::vector<cluster_time> times_; ///< times of entries, by index - 1
};

} // namespace belay::sim
