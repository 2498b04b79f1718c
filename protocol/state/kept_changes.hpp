#pragma once
// What of the window of changes is written beside a checkpoint, so that a restart does not forget it (docs/changes.md).

#include "protocol/state/change_journal.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace belay::state {

/// One change as it is kept.
struct kept_change {
  log_index index;
  std::uint64_t effect = 0; ///< as change_place counts them
  key_change change;
  /// `change.before` is what the newest change of this key before it has left, and that one is kept, too: it is not written again. Never of a
  /// removal, whose key only that row tells.
  bool goes_on = false;
};

/// What a copy of the window lacks, which has all that was taken before.
struct unkept_changes {
  /// The copy knows all up to there. nullopt: it has nothing, and `list` is all there is.
  std::optional<log_index> behind;
  log_index floor; ///< changes of entries up to this one leave the copy
  /// New ones, in their order. Before them those that the copy has, of keys whose change before them leaves: they do not go on any more.
  std::vector<kept_change> list;
};

} // namespace belay::state
