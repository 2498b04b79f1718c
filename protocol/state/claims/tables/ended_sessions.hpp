#pragma once
// The most recently ended sessions, and why they ended (docs/reference/claims.md, rule 22).

#include "protocol/state/undo_logged_map.hpp"

#include <map>

namespace belay::state {

class ended_sessions {
public:
  explicit ended_sessions(undo_log& log) : rows_(log, table::ended_sessions) {}

  /// `id` in lower case. Null: it did not end, or at least ended_sessions_max ended later.
  ended_session_ptr find(std::string_view id) const;
  /// Assigns a number and inserts it; forgets the oldest if there are too many.
  void add(ended_session row);

  void put(ended_session_ptr row);
  void erase(std::string_view id);
  const undo_logged_map<ended_session_ptr>& rows() const { return rows_; }
  auto maps() const { return std::tie(rows_); }
  /// recount() recomputes it from the rows (protocol/state/recount).
  auto beside() const { return std::tuple{kept_member{"by_number", by_number_}}; }

private:
  undo_logged_map<ended_session_ptr> rows_;
  std::map<std::uint64_t, std::string> by_number_;
};

} // namespace belay::state
