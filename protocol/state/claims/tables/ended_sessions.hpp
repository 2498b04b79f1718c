#pragma once
// The sessions that ended last, and why (docs/claims.md, rule 22).

#include "protocol/state/journaled_map.hpp"

#include <map>

namespace belay::state {

class ended_sessions {
public:
  explicit ended_sessions(change_journal& journal) : rows_(journal, table::ended_sessions) {}

  /// `id` in lower case. Null: it did not end, or longer ago than ended_sessions_max others.
  ended_session_ptr find(std::string_view id) const;
  /// Gives it a number and takes it in; the oldest one is forgotten if there are too many.
  void add(ended_session row);

  void put(ended_session_ptr row);
  void erase(std::string_view id);
  const journaled_map<ended_session_ptr>& rows() const { return rows_; }
  auto maps() const { return std::tie(rows_); }
  /// Each is counted again from the rows (protocol/state/recount).
  auto beside() const { return std::tuple{kept_member{"by_number", by_number_}}; }

private:
  journaled_map<ended_session_ptr> rows_;
  std::map<std::uint64_t, std::string> by_number_;
};

} // namespace belay::state
