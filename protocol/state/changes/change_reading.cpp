#include "protocol/state/changes/change_reading.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"

#include <algorithm>
#include <iterator>

namespace belay::state {

namespace {

/// @pre the server knows its cluster
history_id own_history(const tables& t) {
  return history_id::of(t.history.cluster_id, t.indexes.at(index_kind::restored));
}

change_rows standing_at(const tables& t) {
  change_rows found;
  found.floor = t.changes.floor();
  found.applied = t.changes.applied();
  INVARIANT(found.floor <= found.applied);
  found.reached = change_position{found.applied};
  if (t.history.named && t.history.cluster_id != 0)
    found.history = own_history(t);
  return found;
}

/// Whether an index that a client kept belongs to this server's history.
enum class origin {
  ours,    ///< it does, or the client named no history
  foreign, ///< it never did
  unclear, ///< unknown until this server applies the entry, or knows its cluster
};
origin origin_of(const tables& t, history_id named, log_index index) {
  if (named.is_none() || MUTANT(cursor_of_any_history_taken))
    return origin::ours;
  if (t.history.cluster_id == 0)
    return origin::unclear;
  const auto own = own_history(t);
  if (named == own)
    return origin::ours;
  // Same cluster: a restore that is not applied here yet may precede the entry.
  return named.same_cluster(own) && index > t.changes.applied() ? origin::unclear : origin::foreign;
}

change_rows gone_with_its_history(const tables& t) {
  PROBE("changes: asked for what is of another history");
  auto found = standing_at(t);
  found.gone = found.other_history = true;
  return found;
}

query_result with_index(change_rows found) {
  const auto index = found.reached.index;
  return {index, std::move(found)};
}

} // namespace

std::vector<std::string> without_nested(std::vector<std::string> prefixes) {
  std::sort(prefixes.begin(), prefixes.end());
  std::vector<std::string> outer;
  for (auto& each : prefixes)
    if (outer.empty() || !each.starts_with(outer.back()))
      outer.push_back(std::move(each));
  return outer;
}

std::optional<change_rows> snapshot_without_rows(const tables& t, const kv_changes& q) {
  if (q.requested != kv_changes::what::snapshot || origin_of(t, q.history, q.after.index) != origin::ours)
    return std::nullopt;
  auto found = standing_at(t);
  if (found.applied < q.after.index) // the requested state is still to come
    return std::nullopt;
  found.reached = change_position{MUTANT(snapshot_and_changes_with_a_hole) ? found.applied.next() : found.applied};
  return found;
}

query_result changes_answer(const tables& t, const kv_changes& q) {
  if (auto snapshot = snapshot_without_rows(t, q)) {
    for (const auto& each : without_nested(q.prefixes))
      t.kv.list(each, snapshot->rows);
    return with_index(std::move(*snapshot));
  }
  auto found = standing_at(t);
  const auto from = q.requested == kv_changes::what::position ? origin::ours : origin_of(t, q.history, q.after.index);
  if (from == origin::foreign)
    return with_index(gone_with_its_history(t));
  if (from == origin::unclear) { // like a server that has not applied the entry
    found.applied = std::min(found.applied, q.after.index.prev());
    found.reached = q.after;
    return with_index(std::move(found));
  }
  if (q.requested == kv_changes::what::changes) {
    auto changes = t.changes.read(q);
    changes.history = found.history;
    return with_index(std::move(changes));
  }
  if (q.requested == kv_changes::what::snapshot)
    found.reached = q.after;
  return with_index(std::move(found));
}

query_result changes_answer(const tables& t, const kv_at& q) {
  if (origin_of(t, q.history, q.index) == origin::foreign)
    return with_index(gone_with_its_history(t));
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
  auto found = t.changes.history(q.key);
  found.history = standing_at(t).history;
  return with_index(std::move(found));
}

} // namespace belay::state
