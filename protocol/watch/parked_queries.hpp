#pragma once
// The index of parked blocking queries: the effects of an applied entry
// determine which queries may have a new result (docs/contract/02, section 4).

#include "protocol/state/queries.hpp"

#include <memory>
#include <vector>

namespace belay::watch {

/// Identifies a parked query; chosen by the caller, unique among the parked ones.
using park_id = std::uint64_t;

/// Index by key, key prefix, table, session, node and service name. O(log n + woken) per change.
/// Wakes all that may have changed; a woken query evaluates, and may park again. None is missed.
class parked_queries {
public:
  parked_queries();
  ~parked_queries();
  parked_queries(parked_queries&&) noexcept;

  /// @pre id is not parked
  void park(park_id id, const state::query& q);
  /// Ignores unknown ids.
  void remove(park_id id);
  /// Appends the ids that the effects touch, each once, ascending, and keeps them parked.
  void touched(const state::effects& changed, std::vector<park_id>& woken) const;
  std::size_t size() const;

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace belay::watch
