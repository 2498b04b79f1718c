// fsm: reads of changes of keys (docs/reference/changes.md).
//
// A cursor above the applied index has one of three reasons. This server is behind; or the cursor
// names another history, which the state machine detects; or it names none (clients of 0.2.0, or
// data directories that were copied back), and this cluster never had such an entry. The leader
// separates the first case from the last: cursors are only issued for committed entries. So either
// the index that a quorum confirms after the request covers it, or it is of another history. No
// clock is trusted: a cursor that is wrongly rejected costs its client a snapshot of all keys.

#include "actors/tables/fsm.hpp"
#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"

#include <algorithm>
#include <iterator>

namespace belay::actors {

namespace {

/// Whether a snapshot of the keys is requested at an index that is not applied here.
bool lacks_snapshot(const state::query& requested, const state::query_result& found) {
  const auto* changes = std::get_if<state::kv_changes>(&requested);
  const auto* rows = std::get_if<state::change_rows>(&found.data);
  return changes != nullptr && changes->requested == state::kv_changes::what::snapshot && rows != nullptr &&
         !rows->gone && rows->applied < changes->after.index;
}

} // namespace

/// The tables have the entry of the cursor, but do not know yet to which cluster it must belong. A
/// new server applies entries before it learns its cluster. No change after the cursor was
/// examined. Such a query must not be parked, because a parked one continues after the last change
/// that did not wake it.
bool fsm::is_unclear(const read_query& q, const state::query_result& found) const {
  const auto* rows = std::get_if<state::change_rows>(&found.data);
  const auto after = std::get<state::kv_changes>(q.request.query).after.index;
  return rows != nullptr && !rows->gone && rows->applied < after && after <= applied_.index &&
         !MUTANT(unclear_cursor_parked);
}

bool fsm::goes_on_waiting(read_query& q, const state::query_result& found) {
  const auto* rows = std::get_if<state::change_rows>(&found.data);
  auto& requested = std::get<state::kv_changes>(q.request.query);
  const bool waits = rows != nullptr && (requested.requested == state::kv_changes::what::changes
                                             ? rows->nothing_yet()
                                             : !rows->gone && rows->applied < requested.after.index);
  if (waits) {
    INVARIANT(requested.requested != state::kv_changes::what::changes || rows->reached >= requested.after);
    requested.after = rows->reached; // what was examined is not examined again
  }
  return waits;
}

void fsm::serve_changes(read_query q) {
  if (begin_long_read(q)) // a snapshot that can be read here and now
    return;
  auto found = machine_->evaluate(q.request.query, cluster_now());
  const auto& requested = std::get<state::kv_changes>(q.request.query);
  const auto* rows = std::get_if<state::change_rows>(&found.data);
  const bool ahead = rows != nullptr && !rows->gone && rows->applied < requested.after.index &&
                     requested.requested != state::kv_changes::what::position;
  const bool at_once = q.request.mode == http::consistency::stale && q.request.min_index == 0;
  if (!ahead || at_once)
    return answer_changes(std::move(q), std::move(found));
  PROBE("fsm: a cursor above what is applied");
  gathering_consistent_.ahead.push_back(std::move(q));
  plan_barriers();
}

void fsm::answer_changes(read_query q, state::query_result found) {
  if (q.request.min_index > 0 && now() < q.deadline) {
    // A snapshot may wait for an entry that changes no key below its prefix. Nothing would wake it.
    if (is_unclear(q, found) || (lacks_snapshot(q.request.query, found) && !MUTANT(late_snapshot_sleeps)))
      return wait_for_history(std::move(q));
    if (goes_on_waiting(q, found))
      return park(q);
  }
  if (lacks_snapshot(q.request.query, found))
    refuse(q, never_caught_up);
  else
    reply_to(q, std::move(found));
}

/// Evaluated again with the next barrier.
void fsm::wait_for_history(read_query q) {
  PROBE("fsm: a cursor whose cluster is not known yet");
  ahead_.push_back(std::move(q));
}

void fsm::answer_ahead(read_query q, log_index committed) {
  if (begin_long_read(q))
    return;
  auto found = machine_->evaluate(q.request.query, cluster_now());
  auto* rows = std::get_if<state::change_rows>(&found.data);
  const auto after = std::get<state::kv_changes>(q.request.query).after.index;
  const auto known = MUTANT(laggard_rejects_cursors) ? applied_.index : committed;
  if (rows == nullptr || rows->gone || after <= known || MUTANT(cursor_above_commit_waits))
    return answer_changes(std::move(q), std::move(found));
  PROBE("fsm: a cursor above the commit index was rejected");
  found.index = machine_->applied_index();
  rows->reached = state::change_position{found.index};
  rows->gone = rows->other_history = true;
  reply_to(q, std::move(found));
}

void fsm::keep_ahead(read_query q, const std::string& why) {
  if (q.request.mode == http::consistency::stale)
    ahead_.push_back(std::move(q));
  else
    refuse(q, why);
}

void fsm::look_at_ahead() {
  const auto drop_late = [this](std::vector<read_query>& list) {
    std::erase_if(list, [this](const read_query& q) {
      if (now() < q.deadline)
        return false;
      answer_unproven(q);
      return true;
    });
  };
  drop_late(ahead_);
  drop_late(gathering_consistent_.ahead);
  for (auto& [barrier, group] : at_barrier_)
    drop_late(group.ahead);
  if (ahead_.empty() || view_.soft.leader.is_zero())
    return;
  auto& again = gathering_consistent_.ahead;
  std::move(ahead_.begin(), ahead_.end(), std::back_inserter(again));
  ahead_.clear();
  plan_barriers();
}

/// The query reached its deadline before a leader confirmed that its cursor is of this history. It
/// returns no change, even if some were applied meanwhile.
void fsm::answer_unproven(const read_query& q) {
  auto found = machine_->evaluate(q.request.query, cluster_now());
  const auto& requested = std::get<state::kv_changes>(q.request.query);
  if (requested.requested == state::kv_changes::what::snapshot)
    return refuse(q, never_caught_up);
  if (auto* rows = std::get_if<state::change_rows>(&found.data); rows != nullptr && !rows->gone) {
    found.index = requested.after.index;
    rows->list.clear();
    rows->more = false;
    rows->reached = requested.after;
    rows->applied = std::min(rows->applied, requested.after.index.prev());
  }
  reply_to(q, std::move(found));
}

/// @param known results of earlier queries: consumers of the same keys often have equal cursors
void fsm::look_at_changes(read_query& q, const queries_touched& t, shared_results& known) {
  constexpr std::size_t known_max = 64;
  // If other keys change often, what lies between has left the window, or takes long to scan.
  auto& requested = std::get<state::kv_changes>(q.request.query);
  if (requested.requested == state::kv_changes::what::changes)
    requested.after = std::max(requested.after, state::change_position{t.quiet_up_to});
  const auto same = std::find_if(known.begin(), known.end(),
                                 [&](const auto& each) { return state::same_question(each.first, q.request.query); });
  auto found = same != known.end()
                   ? same->second
                   : std::make_shared<const state::query_result>(machine_->evaluate(q.request.query, cluster_now()));
  if (same == known.end()) {
    if (known.size() == known_max)
      known.erase(known.begin());
    known.emplace_back(q.request.query, found);
  } else
    PROBE("fsm: changes looked up once for several");
  if (!t.expired && is_unclear(q, *found)) {
    send(node_actors_->watch_registry, unpark_query{q.id});
    return wait_for_history(std::move(q));
  }
  if (!t.expired && goes_on_waiting(q, *found)) {
    const bool fresh = parked_.emplace(q.id, std::move(q)).second;
    INVARIANT(fresh);
    return;
  }
  if (!t.expired)
    send(node_actors_->watch_registry, unpark_query{q.id});
  if (lacks_snapshot(q.request.query, *found))
    refuse(q, never_caught_up);
  else
    reply_to(q, std::move(found));
}

} // namespace belay::actors
