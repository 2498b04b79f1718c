#pragma once
// Checks a cluster without requests: its log does not grow, and there are no elections. Only
// expired sessions and tombstones may still be removed.

#include "sim/checkers/kv_model.hpp"

#include <optional>

namespace belay::sim {

class idle_checker {
public:
  /// Call it when clients send nothing but renewals and reads from now on.
  /// @param term the leader's
  void begin(term_id term) {
    term_ = term;
    in_vain_ = 0;
  }
  void end() { term_.reset(); }

  /// Call it with every committed entry, even when the cluster is not idle.
  broken committed(const raft::entry& e);

private:
  std::optional<term_id> term_; ///< nullopt: not idle
  log_index reaped_;            ///< tombstones up to this index were reaped
  int in_vain_ = 0;             ///< how often they were reaped again
};

} // namespace belay::sim
