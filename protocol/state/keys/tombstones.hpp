#pragma once
// Tombstones of deleted keys, so that the index of a prefix never
// decreases (docs/contract/02, section 3; docs/internals/pitfalls.md C5).

#include "protocol/state/undo_logged_map.hpp"

#include <map>
#include <set>

namespace belay::state {

class tombstones {
public:
  explicit tombstones(undo_log& log) : rows_(log, table::tombstones) {}

  /// `key` was deleted; replaces its older tombstone.
  void bury_key(std::string_view key, log_index index);
  /// Keys under `prefix` were removed by one recursive delete. @pre prefix is not empty
  void bury_tree(std::string_view prefix, log_index index);
  /// Removes all tombstones at and below the index.
  void reap(log_index up_to);

  /// Largest index of tombstones under the prefix; zero: none.
  log_index newest_under(std::string_view prefix) const;
  /// Largest index of recursive deletes of proper prefixes of `prefix`; zero: none.
  log_index newest_tree_around(std::string_view prefix) const;
  /// Largest index of all; zero: none.
  log_index newest() const;

  void put(tombstone row);
  void erase(std::string_view key);
  const undo_logged_map<tombstone>& rows() const { return rows_; }
  auto maps() const { return std::tie(rows_); }
  /// recount() recomputes each of them from the rows (protocol/state/recount).
  auto beside() const {
    return std::tuple{kept_member{"by_index", by_index_}, kept_member{"trees", trees_},
                      kept_member{"tree_lengths", tree_lengths_}};
  }

private:
  void unindex(const tombstone& row);

  undo_logged_map<tombstone> rows_;
  std::set<std::pair<log_index, std::string>> by_index_;
  std::map<std::string, log_index, std::less<>> trees_;
  std::map<std::size_t, std::size_t> tree_lengths_; // length of prefix -> number of trees_ with it
};

} // namespace belay::state
