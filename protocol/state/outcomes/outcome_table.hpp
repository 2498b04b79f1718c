#pragma once
// Outcomes by the token's accessor and the Idempotency-Key, and by expiry (docs/reference/exactly-once.md).

#include "protocol/state/undo_logged_map.hpp"

#include <set>
#include <unordered_map>

namespace belay::state {

class outcome_table {
public:
  explicit outcome_table(undo_log& log) : rows_(log, table::outcomes) {}

  /// Null: unknown.
  outcome_ptr find(std::string_view scope, std::string_view id) const;
  /// The one that expires first. Null: there are none.
  outcome_ptr first_due() const { return by_time_.empty() ? nullptr : *by_time_.begin(); }
  /// Sum of outcome_bytes().
  std::uint64_t bytes() const { return all_.bytes; }
  /// Whether no more are accepted.
  /// @param share check only the share of one token
  bool is_full(std::string_view scope, bool share) const;

  void put(outcome_ptr row);
  void erase(std::string_view key);
  const undo_logged_map<outcome_ptr>& rows() const { return rows_; }
  auto maps() const { return std::tie(rows_); }
  /// recount() recomputes each of them from the rows (protocol/state/recount).
  auto beside() const {
    return std::tuple{kept_member{"by_time", by_time_}, kept_member{"all", all_}, kept_member{"by_scope", by_scope_}};
  }

private:
  struct totals {
    std::size_t count = 0;
    std::uint64_t bytes = 0;
    bool operator==(const totals&) const = default;
    bool reached(std::size_t parts) const {
      return count >= outcomes_max / parts || bytes >= outcome_bytes_max / parts;
    }
  };
  struct earlier {
    bool operator()(const outcome_ptr& a, const outcome_ptr& b) const {
      return std::tie(a->until, a->key) < std::tie(b->until, b->key);
    }
  };
  void untrack(const outcome_ptr& row);

  undo_logged_map<outcome_ptr> rows_;
  std::set<outcome_ptr, earlier> by_time_;
  totals all_;
  std::unordered_map<std::string, totals> by_scope_;
};

} // namespace belay::state
