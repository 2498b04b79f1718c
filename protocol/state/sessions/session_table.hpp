#pragma once
// Sessions by id and by node.

#include "protocol/state/undo_logged_map.hpp"

#include <map>
#include <set>

namespace belay::state {

class session_table {
public:
  explicit session_table(undo_log& log) : rows_(log, table::sessions) {}

  /// `id` in any case. @returns null if there is none.
  session_ptr find(std::string_view id) const;
  /// The node's sessions, ordered by id; `node` in any case.
  std::vector<session_ptr> of_node(std::string_view node) const;
  std::size_t count_of_node(std::string_view node) const;
  /// Sessions of the node that rely on the check, in order of their ids.
  std::vector<session_ptr> relying_on(std::string_view node, std::string_view check_id) const;

  void put(session_ptr row);
  void erase(std::string_view id);
  const undo_logged_map<session_ptr>& rows() const { return rows_; }
  auto maps() const { return std::tie(rows_); }
  /// recount() recomputes it from the rows (protocol/state/recount).
  auto beside() const { return std::tuple{kept_member{"by_node", by_node_}}; }

private:
  undo_logged_map<session_ptr> rows_;
  std::map<std::string, std::set<std::string>, std::less<>> by_node_;
};

/// Deprecated checks, node checks, service checks: in the order in which they are verified.
std::vector<std::string> check_ids(const session_record& s);

} // namespace belay::state
