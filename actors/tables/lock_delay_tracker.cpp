#include "actors/tables/lock_delay_tracker.hpp"

#include "actors/telemetry/fatal_exceptions.hpp"

#include "protocol/base/probe.hpp"

#include <algorithm>
#include <utility>

namespace belay::actors {

namespace {

// A timer of the system stands still while the machine is suspended, and the clock of the node does not: no acquire waits
// longer than this beyond its time.
constexpr std::chrono::seconds longest_sleep{1};

} // namespace

lock_delay_tracker::lock_delay_tracker(caf::actor_config& config, actor_host* host, wiring_ptr wires)
    : hosted(config, host), wires_(std::move(wires)) {
  end_node_by_exceptions_of(*this, wires_, "lock_delay_tracker");
}

lock_delay_tracker_actor::behavior_type lock_delay_tracker::make_behavior() {
  return {
      [this](await_lock_delay& a) { await(std::move(a)); },
      [this](const cancel_query& c) { forget(c.id); },
      [this](const publish_effects&) { try_again(monotonic_time::max()); },
      [this](tick_atom) {
        --wake_ups_;
        armed_for_ = monotonic_time::max();
        try_again(now());
        arm();
      },
      [this](stop_atom) { quit(); },
  };
}

void lock_delay_tracker::await(await_lock_delay a) {
  PROBE("delays: acquire waits for the end of a lock-delay");
  const auto id = a.id;
  by_id_[id] = waiting_.emplace(now() + a.left, std::move(a));
  arm();
}

void lock_delay_tracker::forget(request_id id) {
  const auto it = by_id_.find(id);
  if (it == by_id_.end())
    return;
  waiting_.erase(it->second);
  by_id_.erase(it);
}

void lock_delay_tracker::try_again(monotonic_time until) {
  while (!waiting_.empty() && waiting_.begin()->first <= until) {
    auto a = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    by_id_.erase(a.id);
    send(wires_->fsm, check_write{a.id, std::move(a.acquire)});
  }
}

void lock_delay_tracker::arm() {
  if (waiting_.empty() || waiting_.begin()->first >= armed_for_)
    return;
  const auto left = std::max(waiting_.begin()->first - now(), monotonic_time::duration{1});
  if (left > longest_sleep && wake_ups_ > 0)
    return; // one that is on its way comes sooner, and looks again
  armed_for_ = waiting_.begin()->first;
  ++wake_ups_;
  wake_after(*this, *wires_, std::min<monotonic_time::duration>(left, longest_sleep), tick_atom::value);
}

} // namespace belay::actors
