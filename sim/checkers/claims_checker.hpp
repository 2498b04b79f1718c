#pragma once
// Compares what servers have about claims, guards and locks that somebody queues for with what the model of claims says at the same log
// index, and looks at what must hold over the whole run whatever the model says: fences rise in the order of grants, and what was told to be
// over never holds or waits again.

#include "sim/checkers/kv_model.hpp"
#include "sim/record/history.hpp"

#include <map>
#include <set>

namespace belay::sim {

class claims_checker {
public:
  explicit claims_checker(const kv_model& model) : model_(model) {}

  /// A node has applied the log up to that index, as the first one. @pre at <= model.applied()
  broken applied(log_index at, const state::machine& m);
  /// @pre op.committed_at_return is set
  broken ended(const operation& op);

private:
  using claim_name = std::pair<state::resource_name, std::string>;

  broken compare_claims(log_index at, const state::machine& m);
  broken compare_ghosts(log_index at, const state::machine& m) const;
  broken compare_guards(log_index at, const state::machine& m) const;
  broken compare_counts(log_index at, const state::machine& m) const;
  broken judge_row(log_index at, const state::claim_record& row);

  const kv_model& model_;
  claims_state_ptr compared_;           ///< the last one
  std::set<std::uint64_t> fences_;      ///< of claims that held when it was looked last, and before
  std::uint64_t newest_before_ = 0;     ///< of them
  std::map<claim_name, log_index> over_; ///< told to have ended, at that entry at the latest
};

} // namespace belay::sim
