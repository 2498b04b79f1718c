#include "actors/tables/lock_delay_tracker.hpp"

#include "actors/telemetry/fatal_exceptions.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/wire/command_codec.hpp"

#include <algorithm>
#include <utility>

namespace belay::actors {

namespace {

// A system timer stops while the machine is suspended, and the node's clock does not:
// no acquire waits longer than this beyond its time.
constexpr std::chrono::seconds longest_sleep{1};

// An alarm without effect may be lost. If more was due than one entry ends, the next alarm
// need not wait that long, but must not precede the previous one's commit.
constexpr std::chrono::seconds alarm_again_after{1};
constexpr std::chrono::milliseconds alarms_apart{20};
// Later alarms are checked again then: a longer sleep would overflow.
constexpr std::uint64_t longest_alarm_ms = 3'600'000;

} // namespace

lock_delay_tracker::lock_delay_tracker(caf::actor_config& config, actor_host* host, node_actors_ptr node_actors)
    : hosted(config, host), node_actors_(std::move(node_actors)) {
  end_node_by_exceptions_of(*this, node_actors_, "lock_delay_tracker");
}

lock_delay_tracker_actor::behavior_type lock_delay_tracker::make_behavior() {
  return {
      [this](await_lock_delay& a) { await(std::move(a)); },
      [this](const cancel_query& c) { forget(c.id); },
      [this](const end_wait& w) { end_wait_of(w.id); },
      [this](const publish_effects& e) {
        for (const auto& each : e.changed)
          if (const auto* moved = std::get_if<state::claims_alarm_moved>(&each))
            alarm_moved(moved->at);
          else
            try_again(monotonic_time::max());
      },
      [this](const cluster_view& v) {
        const bool goes_on = view_.serving && v.serving && v.soft.term == view_.soft.term;
        view_ = v;
        if (!goes_on)
          next_alarm_ = {};
        propose_alarm();
        arm();
      },
      [this](tick_atom) {
        INVARIANT(wake_ups_ > 0);
        --wake_ups_;
        armed_for_ = monotonic_time::max();
        try_again(now());
        propose_alarm();
        arm();
      },
      [this](stop_atom) { quit(); },
  };
}

void lock_delay_tracker::await(await_lock_delay a) {
  PROBE("delays: acquire waits for the end of a lock-delay");
  const auto id = a.id;
  by_id_[id] = waiting_.emplace(now() + a.left, std::move(a));
  INVARIANT(by_id_.size() == waiting_.size()); // an acquire waits once
  arm();
}

void lock_delay_tracker::forget(request_id id) {
  const auto it = by_id_.find(id);
  if (it == by_id_.end())
    return;
  waiting_.erase(it->second);
  by_id_.erase(it);
  INVARIANT(by_id_.size() == waiting_.size());
}

/// Only this actor knows whether the acquire was retried: then its outcome is the response,
/// and the rejection would be wrong.
void lock_delay_tracker::end_wait_of(request_id id) {
  const auto it = by_id_.find(id);
  if (it == by_id_.end())
    return send(node_actors_->fsm, end_wait{id});
  auto refused = std::move(it->second->second.refused);
  refused.id = id;
  forget(id);
  answer_gateway(*this, *node_actors_, id, write_results{{std::move(refused)}});
}

void lock_delay_tracker::try_again(monotonic_time until) {
  while (!waiting_.empty() && waiting_.begin()->first <= until) {
    auto a = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    by_id_.erase(a.id);
    send(node_actors_->fsm, check_write{a.id, std::move(a.acquire)});
  }
  INVARIANT(by_id_.size() == waiting_.size());
}

void lock_delay_tracker::alarm_moved(cluster_time at) {
  alarm_ = MUTANT(alarm_not_proposed) ? cluster_time{} : at;
  next_alarm_ = std::min(next_alarm_, std::max(now(), proposed_at_ + alarms_apart));
  propose_alarm();
  arm();
}

void lock_delay_tracker::propose_alarm() {
  const auto t = now();
  if (!view_.serving || alarm_.is_zero() || t < next_alarm_ || view_.clock.at(t.time_since_epoch()) < alarm_)
    return;
  PROBE("delays: alarm proposed");
  proposed_at_ = t;
  next_alarm_ = t + alarm_again_after;
  send(node_actors_->raft_peer,
       propose_internal{view_.soft.term, make_payload(wire::encode_command(state::claims_alarm{alarm_}))});
}

monotonic_time lock_delay_tracker::next_due() {
  const auto acquire = waiting_.empty() ? monotonic_time::max() : waiting_.begin()->first;
  if (!view_.serving || alarm_.is_zero())
    return acquire;
  const auto t = now();
  const auto stamp = view_.clock.at(t.time_since_epoch());
  const auto left = std::chrono::milliseconds(
      alarm_ > stamp ? std::min(alarm_.value - stamp.value, std::uint64_t{longest_alarm_ms}) : 0);
  return std::min(acquire, std::max(t + left, next_alarm_));
}

void lock_delay_tracker::arm() {
  const auto due = next_due();
  if (due == monotonic_time::max() || due >= armed_for_)
    return;
  const auto left = std::max(due - now(), monotonic_time::duration{1});
  if (left > longest_sleep && wake_ups_ > 0)
    return; // a scheduled wake-up comes sooner, and checks again
  armed_for_ = due;
  ++wake_ups_;
  wake_after(*this, *node_actors_, std::min<monotonic_time::duration>(left, longest_sleep), tick_atom::value);
}

} // namespace belay::actors
