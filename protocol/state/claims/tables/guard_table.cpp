#include "protocol/state/claims/tables/guard_table.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"

#include <algorithm>

namespace belay::state {

const guard_record* guard_table::find(std::string_view prefix) const {
  const auto* row = rows_.find(prefix);
  return row != nullptr ? row->get() : nullptr;
}

const guard_record* guard_table::above(std::string_view key) const {
  for (const auto& [length, count] : lengths_) {
    if (length > key.size())
      break;
    if (const auto* found = find(key.substr(0, length)))
      return found;
  }
  return nullptr;
}

std::vector<const guard_record*> guard_table::around(std::string_view prefix) const {
  std::vector<const guard_record*> found;
  if (const auto* one = above(prefix)) {
    found.push_back(one);
    return found; // none is below it
  }
  rows_.for_each_under(prefix, [&](const guard_ptr& g) { found.push_back(g.get()); });
  return found;
}

bool guard_table::is_full(std::string_view scope) const {
  if (size() >= limits_.most)
    return true;
  if (size() < limits_.most / 2 || MUTANT(guards_without_share))
    return false;
  std::map<std::string_view, std::uint64_t> counts;
  rows_.for_each_under("", [&](const guard_ptr& g) {
    if (!g->scope.empty())
      ++counts[g->scope];
  });
  const auto own = counts[scope];
  const bool has_most =
      std::all_of(counts.begin(), counts.end(), [own](const auto& each) { return each.second <= own; });
  if (has_most && own >= limits_.share)
    PROBE("claims: the scope with most guards is refused");
  return has_most && own >= limits_.share;
}

void guard_table::put(guard_ptr row) {
  erase(row->prefix);
  ++lengths_[row->prefix.size()];
  const std::string_view prefix = row->prefix; // stays valid: the row keeps it
  rows_.put(prefix, std::move(row));
  INVARIANT(lengths_.size() <= rows_.size());
}

void guard_table::erase(std::string_view prefix) {
  if (rows_.find(prefix) == nullptr)
    return;
  const auto at = lengths_.find(prefix.size());
  INVARIANT(at != lengths_.end());
  if (--at->second == 0)
    lengths_.erase(at);
  rows_.erase(prefix);
  INVARIANT(lengths_.empty() == (rows_.size() == 0)); // else a guard is not found, and lets all writes pass
}

} // namespace belay::state
