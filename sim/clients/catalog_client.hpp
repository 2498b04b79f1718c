#pragma once
// Catalog writes in transactions, mixed with keys. The nodes, with their services and checks,
// belong to these clients alone. Many of the transactions fail at one operation.

#include "sim/record/history.hpp"

#include <map>
#include <string>

namespace belay::sim {

class catalog_client {
public:
  /// @param drawn one number of the tape
  /// @param fresh unique, so that no two transactions are alike
  /// @returns operations on the catalog, at least one of which writes
  state::txn next(std::uint64_t drawn, std::uint64_t fresh) const;
  /// @pre o.result is not pending
  void learn(const operation& o);

private:
  log_index seen(const std::string& row) const;

  std::map<std::string, log_index> seen_; ///< the modify index that rows last had in a response
};

} // namespace belay::sim
