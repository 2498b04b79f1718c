#pragma once
// Write guards by prefix; prefixes do not overlap (docs/reference/claims.md, rule 34).

#include "protocol/state/undo_logged_map.hpp"

#include <map>

namespace belay::state {

class guard_table {
public:
  explicit guard_table(undo_log& log) : rows_(log, table::guards) {}

  /// Null: none has exactly this prefix. Results of all members are valid until the next change.
  const guard_record* find(std::string_view prefix) const;
  /// The guard that covers the key. Null: none.
  const guard_record* above(std::string_view key) const;
  /// All guards above or below the prefix.
  std::vector<const guard_record*> around(std::string_view prefix) const;
  std::size_t size() const { return rows_.size(); }

  /// The bounds at which a new guard of a client is rejected. Constant except in tests.
  struct limits {
    std::uint64_t most = client_guards_max;
    std::uint64_t share = guards_share;
  };
  void limit(const limits& l) { limits_ = l; }
  const limits& limit() const { return limits_; }
  /// Whether to reject a new guard of that scope: always at the bound; above half of the bound if
  /// the scope has its share and more guards than every other scope. O(guards).
  bool is_full(std::string_view scope) const;

  void put(guard_ptr row);
  void erase(std::string_view prefix);
  const undo_logged_map<guard_ptr>& rows() const { return rows_; }
  auto maps() const { return std::tie(rows_); }
  /// recount() recomputes it from the rows (protocol/state/recount).
  auto beside() const { return std::tuple{kept_member{"lengths", lengths_}}; }
  static constexpr std::size_t bytes_of_no_row() { return sizeof(limits); }

private:
  undo_logged_map<guard_ptr> rows_;
  limits limits_;
  std::map<std::size_t, std::size_t> lengths_; ///< length of a prefix -> number of guards
};

} // namespace belay::state
