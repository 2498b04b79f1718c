#include "protocol/state/claims/tables/claim_ends.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"

namespace belay::state {

claim_end_ptr claim_ends::find(const resource_name& of, std::string_view id) const {
  const auto* row = rows_.find(claim_key(of.space, of.name, id));
  return row != nullptr ? *row : nullptr;
}

claim_end_ptr claim_ends::first_due() const {
  claim_end_ptr first;
  for (const auto* each : {&scoped_, &unscoped_})
    if (!each->empty() && (first == nullptr || earlier{}(*each->begin(), first)))
      first = *each->begin();
  return first;
}

void claim_ends::bound() {
  while (unscoped_.size() > claim_ends_max && !MUTANT(claim_ends_without_bound)) {
    PROBE("claims: an ended id is forgotten early because there are too many");
    erase(std::string((*unscoped_.begin())->key));
  }
  while (scoped_.size() > claim_ends_max && MUTANT(claim_end_forgotten_early))
    erase(std::string((*scoped_.begin())->key));
}

void claim_ends::untrack(const claim_end_ptr& row) {
  const auto forgotten = of_kind(*row).erase(row);
  INVARIANT(forgotten == 1);
  shares_.remove(*row);
}

void claim_ends::put(claim_end_ptr row) {
  auto p = rows_.locate(row->key);
  if (p.row() != nullptr)
    untrack(*p.row());
  of_kind(*row).insert(row);
  shares_.add(*row);
  const std::string_view key = row->key; // stays valid: the row keeps the record alive
  rows_.put(p, key, std::move(row));
  INVARIANT(scoped_.size() + unscoped_.size() == rows_.size());
}

void claim_ends::erase(std::string_view key) {
  auto p = rows_.locate(key);
  if (p.row() == nullptr)
    return;
  const claim_end_ptr old = *p.row();
  untrack(old);
  rows_.erase(p, old->key);
  INVARIANT(scoped_.size() + unscoped_.size() == rows_.size()); // else bound() finds an end without a row for ever
}

} // namespace belay::state
