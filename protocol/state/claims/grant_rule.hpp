#pragma once
// Who fits: functions of their arguments and nothing else (docs/claims.md, "The model").

#include "protocol/state/claims/tables/claims_table.hpp"

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

/// The next one of a queue that is granted: its first one, if that fits. Nobody overtakes who stands before him. Null: nobody.
inline claim_ptr next_to_grant(const resource_shape& of, const occupancy& taken, const claim_line::queue_map& queue) {
  for (auto at = queue.begin(); at != queue.end() && (at == queue.begin() || MUTANT(unfit_head_overtaken)); ++at)
    if (fits(of, taken, at->second->mode, at->second->permits))
      return at->second;
  return nullptr;
}

} // namespace belay::state
