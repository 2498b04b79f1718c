#pragma once
// What clients do to the catalog by transactions, mixed with keys: nodes of their own with services and checks, so that nobody else
// writes these rows. Many of the transactions fail at one of their operations.

#include "sim/record/history.hpp"

#include <map>
#include <string>

namespace belay::sim {

class catalog_client {
public:
  /// @param drawn one number of the tape @param fresh never twice: so no two transactions say the same
  /// @returns operations on the catalog; one at least, and one at least that writes
  state::txn next(std::uint64_t drawn, std::uint64_t fresh) const;
  /// @pre o.result is not pending
  void learn(const operation& o);

private:
  log_index seen(const std::string& row) const;

  std::map<std::string, log_index> seen_; ///< what rows were last shown to be modified at
};

} // namespace belay::sim
