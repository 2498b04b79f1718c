#include "protocol/state/changes/change_reading.hpp"

#include "protocol/base/mutants.hpp"

#include <algorithm>
#include <iterator>

namespace belay::state {

namespace {

change_rows standing_at(const tables& t) {
  change_rows found;
  found.floor = t.changes.floor();
  found.applied = t.changes.applied();
  found.reached = change_place{found.applied};
  return found;
}

/// Keys that lie under several of them are there once.
std::vector<kv_entry_ptr> rows_under(const tables& t, std::vector<std::string> prefixes) {
  std::sort(prefixes.begin(), prefixes.end());
  const std::string* last = nullptr;
  std::vector<kv_entry_ptr> rows;
  for (const auto& each : prefixes)
    if (last == nullptr || !each.starts_with(*last)) {
      t.kv.list(each, rows);
      last = &each;
    }
  return rows;
}

query_result with_index(change_rows found) {
  const auto index = found.reached.index;
  return {index, std::move(found)};
}

} // namespace

query_result changes_answer(const tables& t, const kv_changes& q) {
  if (q.asked == kv_changes::what::changes)
    return with_index(t.changes.read(q));
  auto found = standing_at(t);
  if (q.asked != kv_changes::what::snapshot)
    return with_index(std::move(found));
  if (found.applied < q.after.index) // not the state that was asked for
    found.reached = q.after;
  else {
    found.rows = rows_under(t, q.prefixes);
    found.reached = change_place{MUTANT(snapshot_and_changes_with_a_hole) ? found.applied.next() : found.applied};
  }
  return with_index(std::move(found));
}

query_result changes_answer(const tables& t, const kv_at& q) {
  auto found = standing_at(t);
  found.gone = q.index < found.floor;
  if (found.gone || q.index > found.applied)
    return with_index(std::move(found));
  kv_entries row;
  if (auto was = t.changes.row_at(q.key, q.index, t.kv.find(q.key)))
    row.entries.push_back(std::move(was));
  return {found.applied, std::move(row)};
}

query_result changes_answer(const tables& t, const kv_history& q) {
  return with_index(t.changes.history(q.key));
}

} // namespace belay::state
