#pragma once
// What an actor takes from the process around it: time, and the end of the process. The simulator gives every node its own.

#include "actors/interfaces.hpp"

#include <cstdlib>
#include <utility>

namespace belay::actors {

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

/// Sends `signal` to itself when `d` has passed on this node's clock.
template <class Actor, class Signal>
void wake_after(Actor& self, const wiring& w, std::chrono::nanoseconds d, Signal signal) {
  self.delayed_send(&self, w.clock != nullptr ? w.clock->in_system_time(d) : d, signal);
}

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
