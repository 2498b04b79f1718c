#pragma once
// Which rows of the catalog a query selects (docs/contract/07 and 08).

#include "protocol/state/commands.hpp"
#include "protocol/state/folded_name.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace belay::state {

inline bool has_meta(const node_record& node, const string_map& wanted) {
  if (wanted.empty())
    return true;
  return node.meta && std::all_of(wanted.begin(), wanted.end(), [&](const auto& pair) {
           auto at = node.meta->find(pair.first);
           return at != node.meta->end() && at->second == pair.second;
         });
}
/// `node` null: false, unless nothing is wanted.
inline bool has_meta(const node_ptr& node, const string_map& wanted) {
  return wanted.empty() || (node != nullptr && has_meta(*node, wanted));
}

inline std::set<std::string> folded_set(const std::vector<std::string>& names) {
  std::set<std::string> all;
  for (const auto& name : names)
    all.insert(folded(name));
  return all;
}

/// @param wanted folded
inline bool has_tags(const service_record& service, const std::set<std::string>& wanted) {
  if (wanted.empty())
    return true;
  const auto present = service.tags ? folded_set(*service.tags) : std::set<std::string>();
  return std::includes(present.begin(), present.end(), wanted.begin(), wanted.end());
}

inline bool all_passing(const std::vector<check_ptr>& checks) {
  return std::all_of(checks.begin(), checks.end(), [](const check_ptr& c) { return c->status == "passing"; });
}

} // namespace belay::state
