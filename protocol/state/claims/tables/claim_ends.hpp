#pragma once
// Ids of claims that came to their end, remembered for a while (docs/claims.md, rules 7 and 16), and as many at most.

#include "protocol/state/journaled_map.hpp"

#include <set>

namespace belay::state {

class claim_ends {
public:
  explicit claim_ends(change_journal& journal) : rows_(journal, table::claim_ends) {}

  /// Null: nothing is remembered, or not any more.
  claim_end_ptr find(const resource_name& of, std::string_view id) const;
  /// The one that is forgotten first. Null: there are none.
  claim_end_ptr first_due() const;
  /// Forgets the oldest until there are no more than claim_ends_max.
  void bound();

  void put(claim_end_ptr row);
  void erase(std::string_view key);
  const journaled_map<claim_end_ptr>& rows() const { return rows_; }
  auto maps() const { return std::tie(rows_); }
  /// Each is counted again from the rows (protocol/state/recount).
  auto beside() const { return std::tuple{kept_member{"by_time", by_time_}}; }

private:
  journaled_map<claim_end_ptr> rows_;
  std::set<std::pair<cluster_time, std::string>> by_time_;
};

} // namespace belay::state
