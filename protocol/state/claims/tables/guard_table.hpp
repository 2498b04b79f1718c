#pragma once
// Guards by their prefixes, which do not overlap (docs/claims.md, rule 34).

#include "protocol/state/journaled_map.hpp"

#include <map>

namespace belay::state {

class guard_table {
public:
  explicit guard_table(change_journal& journal) : rows_(journal, table::guards) {}

  /// Null: there is none of just this prefix. Valid until the next change, as of the other members.
  const guard_record* find(std::string_view prefix) const;
  /// The one that stands above the key. Null: none.
  const guard_record* above(std::string_view key) const;
  /// All that stand above the prefix or below it.
  std::vector<const guard_record*> around(std::string_view prefix) const;
  std::size_t size() const { return rows_.size(); }

  /// The bounds at which a new guard of a client is rejected. Constant except in tests.
  struct limits {
    std::uint64_t most = client_guards_max;
    std::uint64_t share = guards_share;
  };
  void limit(const limits& l) { limits_ = l; }
  const limits& limit() const { return limits_; }
  /// Whether a new guard of that scope is rejected. Above half of the bound, a scope that has its share and more guards than every
  /// other scope is rejected; at the bound, every scope. Takes time in proportion to the guards.
  bool is_full(std::string_view scope) const;

  void put(guard_ptr row);
  void erase(std::string_view prefix);
  const journaled_map<guard_ptr>& rows() const { return rows_; }
  auto maps() const { return std::tie(rows_); }
  /// Each is counted again from the rows (protocol/state/recount).
  auto beside() const { return std::tuple{kept_member{"lengths", lengths_}}; }
  static constexpr std::size_t bytes_of_no_row() { return sizeof(limits); }

private:
  journaled_map<guard_ptr> rows_;
  limits limits_;
  std::map<std::size_t, std::size_t> lengths_; ///< of a prefix -> how many have it
};

} // namespace belay::state
