#include "protocol/state/claims/tables/claim_ghosts.hpp"

#include "protocol/base/check.hpp"

namespace belay::state {

occupancy claim_ghosts::of(const resource_name& of) const {
  const auto at = by_resource_.find(resource_key(of.space, of.name));
  return at != by_resource_.end() ? at->second : occupancy{};
}

const claim_ghost* claim_ghosts::first_due() const {
  if (by_time_.empty())
    return nullptr;
  const auto* row = rows_.find(by_time_.begin()->second);
  INVARIANT(row != nullptr);
  INVARIANT((*row)->until == by_time_.begin()->first);
  return row->get();
}

std::vector<claim_ghost> claim_ghosts::list(const resource_name& of) const {
  std::vector<claim_ghost> found;
  rows_.for_each_under(resource_key(of.space, of.name), [&](const claim_ghost_ptr& g) { found.push_back(*g); });
  return found;
}

void claim_ghosts::untrack(const claim_ghost& g) {
  const auto forgotten = by_time_.erase({g.until, g.key});
  INVARIANT(forgotten == 1);
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
  INVARIANT(by_time_.size() == rows_.size());
}

void claim_ghosts::erase(std::string_view key) {
  auto p = rows_.locate(key);
  if (p.row() == nullptr)
    return;
  const auto old = *p.row();
  untrack(*old);
  rows_.erase(p, old->key);
  INVARIANT(by_time_.size() == rows_.size());
  INVARIANT(by_resource_.empty() == (rows_.size() == 0)); // else permits are withheld for ever
}

} // namespace belay::state
