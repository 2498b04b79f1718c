#pragma once
// Ids of ended claims, remembered for a while (docs/reference/claims.md, rules 7 and 16).

#include "protocol/state/claims/tables/end_shares.hpp"
#include "protocol/state/undo_logged_map.hpp"

#include <set>
#include <tuple>

namespace belay::state {

class claim_ends {
public:
  claim_ends(undo_log& log, end_shares& shares) : rows_(log, table::claim_ends), shares_(shares) {}

  /// Null: not remembered, or no longer.
  claim_end_ptr find(const resource_name& of, std::string_view id) const;
  /// The one that is forgotten first. Null: there are none.
  claim_end_ptr first_due() const;
  /// Forgets the oldest without a scope, down to claim_ends_max. Others are not forgotten early.
  void bound();

  void put(claim_end_ptr row);
  void erase(std::string_view key);
  const undo_logged_map<claim_end_ptr>& rows() const { return rows_; }
  auto maps() const { return std::tie(rows_); }
  /// recount() recomputes each of them from the rows (protocol/state/recount).
  auto beside() const { return std::tuple{kept_member{"scoped", scoped_}, kept_member{"unscoped", unscoped_}}; }
  static constexpr std::size_t bytes_of_no_row() { return sizeof(end_shares*); }

private:
  struct earlier {
    bool operator()(const claim_end_ptr& a, const claim_end_ptr& b) const {
      return std::tie(a->until, a->key) < std::tie(b->until, b->key);
    }
  };
  using by_time = std::set<claim_end_ptr, earlier>;
  by_time& of_kind(const claim_end_record& row) { return row.scope.empty() ? unscoped_ : scoped_; }
  void untrack(const claim_end_ptr& row);

  undo_logged_map<claim_end_ptr> rows_;
  end_shares& shares_;
  by_time scoped_, unscoped_;
};

} // namespace belay::state
