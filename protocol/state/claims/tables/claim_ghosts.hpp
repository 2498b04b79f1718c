#pragma once
// Delayed holders: what they withhold (docs/reference/claims.md, rule 17), until a cluster time.

#include "protocol/state/claims/tables/claims_table.hpp"

namespace belay::state {

class claim_ghosts {
public:
  explicit claim_ghosts(undo_log& log) : rows_(log, table::claim_ghosts) {}

  /// The lock or permits that the delayed holders of a resource occupy.
  occupancy of(const resource_name& of) const;
  /// The one that ends first. Null: there are none. Valid until the next change.
  const claim_ghost* first_due() const;
  /// Those of one resource, in key order.
  std::vector<claim_ghost> list(const resource_name& of) const;

  void put(claim_ghost_ptr row);
  void erase(std::string_view key);
  const undo_logged_map<claim_ghost_ptr>& rows() const { return rows_; }
  auto maps() const { return std::tie(rows_); }
  /// recount() recomputes each of them from the rows (protocol/state/recount).
  auto beside() const { return std::tuple{kept_member{"by_resource", by_resource_}, kept_member{"by_time", by_time_}}; }

private:
  void untrack(const claim_ghost& g);

  undo_logged_map<claim_ghost_ptr> rows_;
  std::map<std::string, occupancy, std::less<>> by_resource_;
  std::set<std::pair<cluster_time, std::string>> by_time_;
};

} // namespace belay::state
