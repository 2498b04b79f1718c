#include "protocol/state/claims/tables/claim_ends.hpp"

#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"

namespace belay::state {

claim_end_ptr claim_ends::find(const resource_name& of, std::string_view id) const {
  const auto* row = rows_.find(claim_key(of.space, of.name, id));
  return row != nullptr ? *row : nullptr;
}

claim_end_ptr claim_ends::first_due() const {
  return by_time_.empty() ? nullptr : *rows_.find(by_time_.begin()->second);
}

void claim_ends::bound() {
  while (rows_.size() > claim_ends_max && !MUTANT(claim_ends_without_bound)) {
    PROBE("claims: an ended id is forgotten early because there are too many");
    erase(std::string(by_time_.begin()->second));
  }
}

void claim_ends::put(claim_end_ptr row) {
  auto p = rows_.locate(row->key);
  if (p.row() != nullptr)
    by_time_.erase({(*p.row())->until, (*p.row())->key});
  by_time_.emplace(row->until, row->key);
  const std::string_view key = row->key; // stays valid: the row keeps the record alive
  rows_.put(p, key, std::move(row));
}

void claim_ends::erase(std::string_view key) {
  auto p = rows_.locate(key);
  if (p.row() == nullptr)
    return;
  const claim_end_ptr old = *p.row();
  by_time_.erase({old->until, old->key});
  rows_.erase(p, old->key);
}

} // namespace belay::state
