#include "protocol/state/tables.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"

namespace belay::state {

namespace {

template <class Row, class Table>
void restore_row(Table& t, dirty_row& row, void (Table::*erase)(std::string_view) = &Table::erase) {
  if (auto* there = std::get_if<Row>(&row.row))
    t.put(std::move(*there));
  else
    (t.*erase)(row.key);
}

bool of_catalog(table t) {
  return t == table::nodes || t == table::services || t == table::checks;
}

} // namespace

void tables::restore(dirty_row row) {
  switch (row.table) {
  case table::kv:
    return restore_row<kv_entry_ptr>(kv, row);
  case table::tombstones:
    return restore_row<tombstone>(graves, row);
  case table::sessions:
    return restore_row<session_ptr>(sessions, row);
  case table::lock_delays:
    return restore_row<lock_delay_record>(delays, row);
  case table::nodes:
    return restore_row<node_ptr>(catalog, row, &catalog_table::erase_node);
  case table::services:
    return restore_row<service_ptr>(catalog, row, &catalog_table::erase_service);
  case table::checks:
    return restore_row<check_ptr>(catalog, row, &catalog_table::erase_check);
  case table::counters:
    return restore_row<counter>(indexes, row);
  case table::staging:
    return restore_row<staged_ptr>(stage, row);
  case table::acl_policies:
    return restore_row<acl_policy_ptr>(acls, row, &acl_table::erase_policy);
  case table::acl_roles:
    return restore_row<acl_role_ptr>(acls, row, &acl_table::erase_role);
  case table::acl_tokens:
    return restore_row<acl_token_ptr>(acls, row, &acl_table::erase_token);
  case table::claims:
    return restore_row<claim_ptr>(claims.claims, row);
  case table::claim_resources:
    return restore_row<claim_resource_ptr>(claims.resources, row);
  case table::claim_ghosts:
    return restore_row<claim_ghost_ptr>(claims.ghosts, row);
  case table::claim_ends:
    return restore_row<claim_end_ptr>(claims.ends, row);
  case table::guards:
    return restore_row<guard_ptr>(claims.guards, row);
  case table::ended_sessions:
    return restore_row<ended_session_ptr>(claims.ended, row);
  case table::outcomes:
    return restore_row<outcome_ptr>(outcomes, row);
  default:
    settings.restore(row);
  }
}

void tables::undo() {
  PRECONDITION(!log.is_loading());
  for (auto& step : log.stop_recording())
    if (step.tree)
      kv.undo_erase_under(step.row.key);
    else if (!of_catalog(step.row.table) || !MUTANT(catalog_verb_of_refused_txn_stays))
      restore(std::move(step.row));
  log.forget_recorded_keys();
}

std::vector<dirty_row> tables::all_rows() const {
  std::vector<dirty_row> out;
  out.reserve(kv.size());
  for_each_table([&](const auto& each) { each.append_rows(out); });
  return out;
}

dirty_rows tables::take_dirty() {
  kv.tear_down(SIZE_MAX);
  return log.take_dirty();
}

std::uint64_t tables::recompute_digest() const {
  std::uint64_t sum = 0;
  for_each_table([&](const auto& each) { sum += each.recompute_digest(); });
  return sum;
}

std::uint64_t applying::new_fence() {
  const auto by_index = t.indexes.at(index_kind::fence_base).value + index.value;
  if (!claims_in_use())
    return by_index;
  const auto last = MUTANT(fences_of_one_entry_alike) ? 0 : t.indexes.at(index_kind::last_fence).value;
  const auto fence = std::max(by_index, last + 1);
  INVARIANT(fence > t.indexes.at(index_kind::last_fence).value);
  t.indexes.set(index_kind::last_fence, log_index{fence});
  return fence;
}

void applying::look_at_lock(const std::string& key) {
  if (lock_is_awaited(key))
    touched.insert({key, claim_space::keys});
}

bool applying::lock_is_awaited(const std::string& key) const {
  return t.claims.claims.waiters() != 0 && t.claims.claims.line({key, claim_space::keys}) != nullptr;
}

void applying::look_at_locks_under(std::string_view prefix) {
  if (t.claims.claims.waiters() == 0)
    return;
  t.claims.claims.for_each_awaited_key(
      prefix, [this](resource_name lock, const claim_line&) { touched.insert(std::move(lock)); });
}

} // namespace belay::state
