#pragma once
// The index of parked blocking queries: given the effects of an applied entry, it says which queries may have a new
// answer (docs/contract/02, section 4).

#include "protocol/state/queries.hpp"

#include <memory>
#include <vector>

namespace belay::watch {

/// Names one parked query; chosen by the caller, unique among the parked ones.
using park_id = std::uint64_t;

/// Index by exact key, key prefix, table, session, node and service name. A change costs O(log n + woken).
/// Wakes whatever may have changed; who is woken looks again and may park again (no wake-up is ever missed).
class parked_queries {
public:
  parked_queries();
  ~parked_queries();
  parked_queries(parked_queries&&) noexcept;

  /// @pre id is not parked
  void park(park_id id, const state::query& q);
  /// Unknown ids are ignored.
  void remove(park_id id);
  /// Appends the ids that the effects touch, each once, in ascending order, and keeps them parked.
  void touched(const state::effects& changed, std::vector<park_id>& woken) const;
  std::size_t size() const;

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace belay::watch
