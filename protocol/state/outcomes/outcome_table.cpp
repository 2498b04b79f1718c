#include "protocol/state/outcomes/outcome_table.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"

namespace belay::state {

outcome_ptr outcome_table::find(std::string_view scope, std::string_view id) const {
  const auto* row = rows_.find(outcome_key(scope, id));
  return row != nullptr ? *row : nullptr;
}

bool outcome_table::is_full(std::string_view scope, bool share) const {
  if (all_.reached(1))
    return true;
  const auto own = by_scope_.find(std::string(scope));
  return share && own != by_scope_.end() && own->second.reached(outcome_shares);
}

void outcome_table::untrack(const outcome_ptr& row) {
  const auto forgotten = by_time_.erase(row);
  INVARIANT(forgotten == 1);
  const auto bytes = outcome_bytes(*row);
  INVARIANT(all_.count > 0);
  INVARIANT(all_.bytes >= bytes);
  all_.count -= 1;
  all_.bytes -= bytes;
  const auto own = by_scope_.find(row->scope);
  INVARIANT(own != by_scope_.end());
  INVARIANT(own->second.bytes >= bytes);
  own->second.count -= 1;
  own->second.bytes -= MUTANT(outcome_bytes_of_scope_stay) ? 0 : bytes;
  if (own->second.count == 0) {
    INVARIANT(own->second.bytes == 0);
    by_scope_.erase(own);
  }
}

void outcome_table::put(outcome_ptr row) {
  auto p = rows_.locate(row->key);
  if (p.row() != nullptr)
    untrack(*p.row());
  by_time_.insert(row);
  for (auto* t : {&all_, &by_scope_[row->scope]}) {
    t->count += 1;
    t->bytes += outcome_bytes(*row);
  }
  const std::string_view key = row->key; // stays valid: the row keeps the record alive
  rows_.put(p, key, std::move(row));
  INVARIANT(all_.count == rows_.size());
  INVARIANT(by_time_.size() == rows_.size());
}

void outcome_table::erase(std::string_view key) {
  auto p = rows_.locate(key);
  if (p.row() == nullptr)
    return;
  const outcome_ptr old = *p.row();
  untrack(old);
  rows_.erase(p, old->key);
  INVARIANT(all_.count == rows_.size());
  INVARIANT(by_scope_.empty() == (rows_.size() == 0));
}

} // namespace belay::state
