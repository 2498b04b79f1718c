#include "actors/gateway/waiting/disconnected_waits.hpp"

#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/state/claims/claim_records.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

// Pause before a failed withdrawal is retried: usually enough for an election.
constexpr std::chrono::seconds again_after{1};
// Size of one entry, plus its last wait: a key may be as long as the head of a request.
constexpr std::size_t entry_bytes_max = 256u << 10;

} // namespace

void disconnected_waits::changed(const wait_changed& w, monotonic_time now) {
  name which{w.wait.key, w.wait.session};
  const auto at = waits_.find(which);
  if (w.disconnected) {
    const auto due = MUTANT(disconnect_withdraws_at_once) ? now : now + kept_for;
    // If two requests have one position, the newer is valid, as in the state machine.
    if (at == waits_.end() || at->second.requested_at <= w.wait.requested_at)
      put(std::move(which), {w.wait.requested_at, w.until, due});
  } else if (at == waits_.end()) {
    return;
  } else if (w.wait.requested_at.is_zero()) {
    PROBE("gateway: a wait is asked for again after its client disconnected");
    set_due(at,
            std::max(at->second.due, now + kept_for)); // if that request has no effect, the position is given up then
  } else if (at->second.requested_at < w.wait.requested_at) {
    erase(at);
  }
}

std::vector<wait_changed> disconnected_waits::take_due(monotonic_time now) {
  std::vector<wait_changed> list;
  std::size_t bytes = 0;
  while (!by_due_.empty() && by_due_.begin()->first <= now && list.size() < state::withdrawn_at_once_max &&
         bytes < entry_bytes_max && !MUTANT(disconnected_wait_stays)) {
    const auto at = waits_.find(by_due_.begin()->second);
    bytes += bytes_of(at->first);
    list.push_back({{at->first.first, at->first.second, at->second.requested_at}, true, at->second.until});
    erase(at);
  }
  return list;
}

void disconnected_waits::not_withdrawn(std::vector<wait_changed> list, monotonic_time now) {
  for (auto& w : list)
    if (name which{std::move(w.wait.key), std::move(w.wait.session)}; now < w.until && !waits_.contains(which)) {
      PROBE("gateway: the withdrawal of a wait is tried again");
      put(std::move(which), {w.wait.requested_at, w.until, now + again_after});
    }
}

void disconnected_waits::put(name which, waiting w) {
  if (const auto at = waits_.find(which); at != waits_.end())
    erase(at);
  if (bytes_ + bytes_of(which) > bytes_max)
    return;
  bytes_ += bytes_of(which);
  by_due_.emplace(w.due, which);
  waits_.emplace(std::move(which), w);
}

void disconnected_waits::set_due(entry_iterator at, monotonic_time due) {
  auto which = at->first;
  auto w = at->second;
  w.due = due;
  put(std::move(which), w);
}

void disconnected_waits::erase(entry_iterator at) {
  const auto [first, last] = by_due_.equal_range(at->second.due);
  by_due_.erase(std::find_if(first, last, [&](const auto& each) { return each.second == at->first; }));
  bytes_ -= bytes_of(at->first);
  waits_.erase(at);
}

} // namespace belay::actors
