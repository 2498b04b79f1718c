#pragma once
// Who fits: functions of their arguments and nothing else (docs/claims.md, "The model").

#include "protocol/state/claims/claims_table.hpp"

namespace belay::state {

/// What is to be granted of a resource.
struct resource_shape {
  claim_kind kind = claim_kind::lock;
  std::uint64_t limit = 0; ///< of a semaphore
};

/// Whether it can be granted beside what holders and ghosts take.
constexpr bool fits(const resource_shape& of, const occupancy& taken, claim_mode mode, std::uint64_t permits) {
  switch (of.kind) {
  case claim_kind::lock:
  case claim_kind::election:
    return taken.exclusive == 0 && taken.shared == 0;
  case claim_kind::rw:
    return taken.exclusive == 0 && (mode == claim_mode::shared || taken.shared == 0);
  case claim_kind::semaphore:
    return taken.permits + permits <= of.limit;
  }
  return false;
}

/// Whether a waiter waits for a holder, as the search for deadlocks sees it (rule 31). Of a semaphore every holder stands in the way of every
/// waiter: with any of them gone there is more room.
constexpr bool conflicts(claim_kind kind, claim_mode waiter, claim_mode holder) {
  return kind != claim_kind::rw || waiter == claim_mode::exclusive || holder == claim_mode::exclusive;
}

/// Whether one session can never have all of these at once: a second claim that conflicts with its first (rule 8).
/// @param own what the session holds of the resource and waits for
constexpr bool excludes_itself(const resource_shape& of, const occupancy& own, claim_mode mode, std::uint64_t permits) {
  return (own.exclusive != 0 || own.shared != 0) && !fits(of, own, mode, permits);
}

/// How many of a queue, in its order, are granted: up to the first that does not fit. `taken` grows by what they take.
/// @param f called with each that is granted
template <class Queue, class F>
void grant(const resource_shape& of, occupancy& taken, const Queue& queue, F&& f) {
  for (const auto& waiter : queue) {
    if (!fits(of, taken, waiter->mode, waiter->permits))
      return;
    taken.add(waiter->mode, waiter->permits);
    f(waiter);
  }
}

} // namespace belay::state
