#include "protocol/state/sessions/session_table.hpp"

#include "protocol/base/check.hpp"

#include <algorithm>

namespace belay::state {

std::vector<std::string> check_ids(const session_record& s) {
  std::vector<std::string> ids;
  for (const auto* list : {&s.checks, &s.node_checks, &s.service_checks})
    if (*list)
      ids.insert(ids.end(), (*list)->begin(), (*list)->end());
  return ids;
}

session_ptr session_table::find(std::string_view id) const {
  const auto* row = rows_.find(id);
  if (!row)
    row = rows_.find(folded(id));
  return row ? *row : nullptr;
}

std::vector<session_ptr> session_table::of_node(std::string_view node) const {
  std::vector<session_ptr> list;
  if (auto at = by_node_.find(folded(node)); at != by_node_.end())
    for (const auto& id : at->second)
      list.push_back(*rows_.find(id));
  return list;
}

std::size_t session_table::count_of_node(std::string_view node) const {
  const auto at = by_node_.find(folded(node));
  return at == by_node_.end() ? 0 : at->second.size();
}

std::vector<session_ptr> session_table::relying_on(std::string_view node, std::string_view check_id) const {
  auto list = of_node(node);
  const auto wanted = folded(check_id);
  std::erase_if(list, [&](const session_ptr& s) {
    const auto ids = check_ids(*s);
    return std::none_of(ids.begin(), ids.end(), [&](const std::string& id) { return folded(id) == wanted; });
  });
  return list;
}

void session_table::put(session_ptr row) {
  erase(row->id);
  const bool fresh = by_node_[folded(row->node)].insert(row->id).second;
  INVARIANT(fresh);
  const std::string id = row->id;
  rows_.put(id, std::move(row));
  INVARIANT(by_node_.size() <= rows_.size());
}

void session_table::erase(std::string_view id) {
  auto p = rows_.locate(id);
  if (!p.row())
    return;
  const session_ptr old = *p.row();
  auto at = by_node_.find(folded(old->node));
  INVARIANT(at != by_node_.end());
  const auto forgotten = at->second.erase(old->id);
  INVARIANT(forgotten == 1);
  if (at->second.empty())
    by_node_.erase(at);
  rows_.erase(p, old->id);
  INVARIANT(by_node_.empty() == (rows_.size() == 0));
}

} // namespace belay::state
