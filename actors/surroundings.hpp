#pragma once
// What an actor takes from the process around it: time, and the end of the process. The simulator gives every node its own.

#include "actors/host.hpp"
#include "actors/interfaces.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace belay::actors {

/// Shorter waits are timed by CAF's clock, a thread of its own: they are part of requests, whose threads have enough to do
/// (docs/adr/0021-quiet-servers.md).
inline constexpr std::chrono::milliseconds timed_by_host_from{10};

/// What regular work of an idle server may be early by, to be done together with other work.
inline constexpr std::chrono::milliseconds tick_slack{50};

/// This node's monotonic clock.
template <class Actor>
monotonic_time now_of(Actor& self, const wiring& w) {
  return w.clock != nullptr ? w.clock->now() : self.clock().now();
}

/// Sends the answer to the gateway that asked under that id.
template <class Actor, class Answer>
void answer_gateway(Actor& self, const wiring& w, request_id asked, Answer&& answer) {
  if (const auto g = gateway_of(asked); g < w.gateways.size())
    self.send(w.gateways[g], std::forward<Answer>(answer));
}

/// A wait of `d`, or up to `slack` less, that ends together with others on the same thread.
template <class Actor>
std::chrono::nanoseconds together(Actor& self, std::chrono::nanoseconds d, std::chrono::nanoseconds slack) {
  return self.host() == nullptr ? d : rounded_wait(d, slack);
}

/// Call it later: it sends `signal` to that actor, if it is still there.
template <class Actor, class Signal>
auto sending_to(Actor& self, Signal signal) {
  return [me = caf::weak_actor_ptr(self.ctrl()), signal] {
    if (auto strong = caf::actor_cast<caf::strong_actor_ptr>(me))
      strong->enqueue(nullptr, caf::make_message_id(), caf::make_message(signal), nullptr);
  };
}

/// Sends `signal` to itself when `d` has passed on this node's clock.
template <class Actor, class Signal>
void wake_after(Actor& self, const wiring& w, std::chrono::nanoseconds d, Signal signal) {
  auto* host = self.host();
  if (host == nullptr || d < timed_by_host_from) {
    self.delayed_send(&self, w.clock != nullptr ? w.clock->in_system_time(d) : d, signal);
    return;
  }
  host->after(d, sending_to(self, signal));
}

/// Wakes an actor by a signal, again and again at times that may change. Wake-ups cannot be taken back: one that was asked for and is too
/// late comes as well, and arrived() says that it is not meant any more.
class wake_ups {
public:
  enum class begun : std::uint8_t { by_asking, by_others };

  /// @param how by others: the first signal comes from outside, and nothing is asked for before
  explicit wake_ups(begun how = begun::by_asking) : begun_(how == begun::by_asking) {}

  /// After `d`, unless a wake-up is on its way that comes before.
  template <class Actor, class Signal>
  void ask(Actor& self, const wiring& w, std::chrono::nanoseconds d, Signal signal) {
    const auto due = now_of(self, w) + d;
    if (due >= due_ || !begun_)
      return;
    due_ = due;
    ++on_their_way_;
    wake_after(self, w, d, signal);
  }
  /// The signal has come. @returns whether it is the one that was asked for last, or the only one left
  bool arrived(monotonic_time now) {
    begun_ = true;
    on_their_way_ -= on_their_way_ > 0 ? 1 : 0;
    if (on_their_way_ > 0 && now + clock_grain < due_)
      return false;
    due_ = monotonic_time::max();
    return true;
  }

private:
  // A timer may be early by what its time was rounded by.
  static constexpr std::chrono::milliseconds clock_grain{1};

  monotonic_time due_ = monotonic_time::max(); ///< of the first one that counts; max(): none does
  std::size_t on_their_way_ = 0;
  bool begun_;
};

/// What wiring::fail_stop of a test may throw: only the actor that called it ends, and the test looks at the others.
struct ended_for_test {};

/// The node cannot go on (the reason was logged): ends the process, and in the simulator the node.
[[noreturn]] inline void fail_stop(const wiring& w) {
  if (w.fail_stop)
    w.fail_stop();
  std::abort();
}

/// The same where nothing is wrong with the program and a core dump would tell nothing: whoever started it has to change
/// something first.
[[noreturn]] inline void stop_for_good(const wiring& w) {
  if (w.fail_stop)
    w.fail_stop();
  std::_Exit(EXIT_FAILURE);
}

} // namespace belay::actors
