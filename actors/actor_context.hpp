#pragma once
// What an actor gets from its process: time, and a way to end it. Each simulated node has its own.

#include "actors/host.hpp"
#include "actors/interfaces.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace belay::actors {

/// Waits shorter than this use CAF's clock, which runs on a thread of its own.
/// They belong to requests, whose threads have enough to do (docs/internals/adr/0007-event-loop.md).
inline constexpr std::chrono::milliseconds timed_by_host_from{10};

/// How early the periodic work of an idle server may run, so that it coincides with other work.
inline constexpr std::chrono::milliseconds tick_slack{50};

/// This node's monotonic clock.
template <class Actor>
monotonic_time now_of(Actor& self, const node_actors& w) {
  return w.clock != nullptr ? w.clock->now() : self.clock().now();
}

/// Sends the response to the gateway that made the request with that id.
template <class Actor, class Answer>
void answer_gateway(Actor& self, const node_actors& w, request_id requested, Answer&& answer) {
  if (const auto g = gateway_of(requested); g < w.gateways.size())
    self.send(w.gateways[g], std::forward<Answer>(answer));
}

/// A wait of `d`, or up to `slack` less, that ends together with other waits on the same thread.
template <class Actor>
std::chrono::nanoseconds together(Actor& self, std::chrono::nanoseconds d, std::chrono::nanoseconds slack) {
  return self.host() == nullptr ? d : rounded_wait(d, slack);
}

/// Returns a function to call later: it sends `signal` to that actor if the actor still exists.
template <class Actor, class Signal>
auto sending_to(Actor& self, Signal signal) {
  return [me = caf::weak_actor_ptr(self.ctrl()), signal] {
    if (auto strong = caf::actor_cast<caf::strong_actor_ptr>(me))
      strong->enqueue(nullptr, caf::make_message_id(), caf::make_message(signal), nullptr);
  };
}

/// Sends `signal` to the actor itself when `d` has passed on this node's clock.
template <class Actor, class Signal>
void wake_after(Actor& self, const node_actors& w, std::chrono::nanoseconds d, Signal signal) {
  auto* host = self.host();
  if (host == nullptr || d < timed_by_host_from) {
    self.delayed_send(&self, w.clock != nullptr ? w.clock->in_system_time(d) : d, signal);
    return;
  }
  host->after(d, sending_to(self, signal));
}

/// Wakes an actor with a signal, repeatedly, at times that may change. A wake-up cannot be
/// cancelled: an obsolete one still arrives, and arrived() returns false for it.
class wake_ups {
public:
  enum class begun : std::uint8_t { by_asking, by_others };

  /// @param how by_others: the first signal comes from outside; none is scheduled before it
  explicit wake_ups(begun how = begun::by_asking) : begun_(how == begun::by_asking) {}

  /// Schedules a wake-up after `d`, unless an earlier one is already scheduled.
  template <class Actor, class Signal>
  void ask(Actor& self, const node_actors& w, std::chrono::nanoseconds d, Signal signal) {
    const auto due = now_of(self, w) + d;
    if (due >= due_ || !begun_)
      return;
    due_ = due;
    ++on_their_way_;
    wake_after(self, w, d, signal);
  }
  /// Call it for each signal. @returns whether it is the one scheduled last, or the only one left
  bool arrived(monotonic_time now) {
    begun_ = true;
    on_their_way_ -= on_their_way_ > 0 ? 1 : 0;
    if (on_their_way_ > 0 && now + clock_grain < due_)
      return false;
    due_ = monotonic_time::max();
    return true;
  }

private:
  // A timer may fire early by the amount that its time was rounded.
  static constexpr std::chrono::milliseconds clock_grain{1};

  monotonic_time due_ = monotonic_time::max(); ///< time of the first wake-up that is still valid; max(): none is
  std::size_t on_their_way_ = 0;
  bool begun_;
};

/// What node_actors::fail_stop of a test may throw: only the calling actor ends; the test
/// continues.
struct ended_for_test {};

/// The node cannot continue (the log says why): ends the process, or the node in the simulator.
[[noreturn]] inline void fail_stop(const node_actors& w) {
  if (w.fail_stop)
    w.fail_stop();
  std::abort();
}

/// Like fail_stop(), for errors that are not bugs, where a core dump would be useless:
/// the operator has to change something before the next start.
[[noreturn]] inline void stop_for_good(const node_actors& w) {
  if (w.fail_stop)
    w.fail_stop();
  std::_Exit(EXIT_FAILURE);
}

} // namespace belay::actors
