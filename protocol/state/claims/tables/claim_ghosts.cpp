#include "protocol/state/claims/tables/claim_ghosts.hpp"

#include "protocol/base/check.hpp"

namespace belay::state {

occupancy claim_ghosts::of(const resource_name& of) const {
  const auto at = by_resource_.find(resource_key(of.space, of.name));
  return at != by_resource_.end() ? at->second : occupancy{};
}

const claim_ghost* claim_ghosts::first_due() const {
  return by_time_.empty() ? nullptr : rows_.find(by_time_.begin()->second)->get();
}

std::vector<claim_ghost> claim_ghosts::list(const resource_name& of) const {
  std::vector<claim_ghost> found;
  rows_.for_each_under(resource_key(of.space, of.name), [&](const claim_ghost_ptr& g) { found.push_back(*g); });
  return found;
}

void claim_ghosts::untrack(const claim_ghost& g) {
  by_time_.erase({g.until, g.key});
  const auto at = by_resource_.find(resource_key(g.of.space, g.of.name));
  INVARIANT(at != by_resource_.end());
  at->second.remove(g.mode, g.permits);
  if (at->second.empty())
    by_resource_.erase(at);
}

void claim_ghosts::put(claim_ghost_ptr row) {
  auto p = rows_.locate(row->key);
  if (const auto* old = p.row())
    untrack(**old);
  by_time_.emplace(row->until, row->key);
  by_resource_[resource_key(row->of.space, row->of.name)].add(row->mode, row->permits);
  const std::string_view key = row->key; // stays valid: the row keeps it
  rows_.put(p, key, std::move(row));
}

void claim_ghosts::erase(std::string_view key) {
  auto p = rows_.locate(key);
  if (p.row() == nullptr)
    return;
  const auto old = *p.row();
  untrack(*old);
  rows_.erase(p, old->key);
}

} // namespace belay::state
