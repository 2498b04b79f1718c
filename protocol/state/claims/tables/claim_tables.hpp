#pragma once
// All tables of claims, write guards and ended sessions.

#include "protocol/state/claims/tables/claim_ends.hpp"
#include "protocol/state/claims/tables/claim_ghosts.hpp"
#include "protocol/state/claims/tables/claims_table.hpp"
#include "protocol/state/claims/tables/ended_sessions.hpp"
#include "protocol/state/claims/tables/guard_table.hpp"

namespace belay::state {

/// Resources by key.
class resource_table {
public:
  explicit resource_table(undo_log& log) : rows_(log, table::claim_resources) {}

  /// Null: there is none.
  claim_resource_ptr find(const resource_name& of) const {
    const auto* row = rows_.find(resource_key(of.space, of.name));
    return row != nullptr ? *row : nullptr;
  }
  void put(claim_resource_ptr row) {
    const std::string_view key = row->key; // stays valid: the row keeps the record alive
    rows_.put(key, claim_resource_ptr(row));
  }
  void erase(std::string_view key) { rows_.erase(key); }
  const undo_logged_map<claim_resource_ptr>& rows() const { return rows_; }
  auto maps() const { return std::tie(rows_); }
  auto beside() const { return std::tuple{}; }

private:
  undo_logged_map<claim_resource_ptr> rows_;
};

struct claim_tables {
  explicit claim_tables(undo_log& log)
      : claims(log, shares), resources(log), ghosts(log), ends(log, shares), guards(log), ended(log) {}
  claim_tables(const claim_tables&) = delete;
  claim_tables& operator=(const claim_tables&) = delete;

  end_shares shares; ///< derived from claims and ends
  claims_table claims;
  resource_table resources;
  claim_ghosts ghosts;
  claim_ends ends;
  guard_table guards;
  ended_sessions ended;
};

} // namespace belay::state
