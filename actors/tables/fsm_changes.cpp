// fsm: reads of changes of keys (docs/changes.md).

#include "actors/tables/fsm.hpp"
#include "protocol/base/probe.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

/// The keys are wanted as they are at an index that is not applied here.
bool lacks_snapshot(const state::query& asked, const state::query_result& found) {
  const auto* changes = std::get_if<state::kv_changes>(&asked);
  const auto* rows = std::get_if<state::change_rows>(&found.data);
  return changes != nullptr && changes->asked == state::kv_changes::what::snapshot && rows != nullptr &&
         rows->applied < changes->after.index;
}

} // namespace

bool fsm::goes_on_waiting(read_query& q, const state::query_result& found) {
  const auto* rows = std::get_if<state::change_rows>(&found.data);
  auto& asked = std::get<state::kv_changes>(q.request.query);
  const bool waits =
      rows != nullptr &&
      (asked.asked == state::kv_changes::what::changes ? rows->nothing_yet() : rows->applied < asked.after.index);
  if (waits)
    asked.after = rows->reached; // what was looked at is not looked at again
  return waits;
}

void fsm::serve_changes(read_query q) {
  auto found = machine_->evaluate(q.request.query, cluster_now());
  if (q.request.min_index > 0 && now() < q.deadline && goes_on_waiting(q, found))
    return park(q);
  if (lacks_snapshot(q.request.query, found))
    refuse(q, never_caught_up);
  else
    reply_to(q, std::move(found));
}

/// @param known what was found for those before it: followers of the same keys mostly stand at the same place
void fsm::look_at_changes(read_query& q, const queries_touched& t, shared_results& known) {
  constexpr std::size_t known_max = 64;
  // Where others write much, what lies between has left the window, or would take long to look through.
  auto& asked = std::get<state::kv_changes>(q.request.query);
  if (asked.asked == state::kv_changes::what::changes)
    asked.after = std::max(asked.after, state::change_place{t.quiet_up_to});
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
  if (!t.expired && goes_on_waiting(q, *found)) {
    parked_.emplace(q.id, std::move(q));
    return;
  }
  if (!t.expired)
    send(wires_->watches, unpark_query{q.id});
  if (lacks_snapshot(q.request.query, *found))
    refuse(q, never_caught_up);
  else
    reply_to(q, std::move(found));
}

} // namespace belay::actors
