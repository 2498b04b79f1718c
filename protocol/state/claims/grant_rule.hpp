#pragma once
// The grant rule: pure functions of their arguments (docs/reference/claims.md, "The model").

#include "protocol/state/claims/tables/claims_table.hpp"

namespace belay::state {

/// What can be granted of a resource.
struct resource_shape {
  claim_kind kind = claim_kind::lock;
  std::uint64_t limit = 0; ///< limit of a semaphore
};

/// Whether it fits beside what holders and delayed holders take.
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

/// Whether a waiter waits for a holder, for the deadlock search (rule 31). For a
/// semaphore every holder blocks every waiter, because the end of any frees permits.
constexpr bool conflicts(claim_kind kind, claim_mode waiter, claim_mode holder) {
  return kind != claim_kind::rw || waiter == claim_mode::exclusive || holder == claim_mode::exclusive;
}

/// Whether one session can never hold both: its second claim conflicts with its first (rule 8).
/// @param own what the session holds and waits for on the resource
constexpr bool excludes_itself(const resource_shape& of, const occupancy& own, claim_mode mode, std::uint64_t permits) {
  return (own.exclusive != 0 || own.shared != 0) && !fits(of, own, mode, permits);
}

/// The next waiter to grant: the head, if it fits. None overtakes the head. Null: there is none.
inline claim_ptr next_to_grant(const resource_shape& of, const occupancy& taken, const claim_line::queue_map& queue) {
  for (auto at = queue.begin(); at != queue.end() && (at == queue.begin() || MUTANT(unfit_head_overtaken)); ++at)
    if (fits(of, taken, at->second->mode, at->second->permits))
      return at->second;
  return nullptr;
}

} // namespace belay::state
