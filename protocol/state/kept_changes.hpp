#pragma once
// The change feed's window as stored beside a checkpoint, for restarts (docs/reference/changes.md).

#include "protocol/state/undo_log.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace belay::state {

/// One change as it is stored.
struct kept_change {
  log_index index;
  std::uint64_t effect = 0; ///< as change_position counts them
  key_change change;
  /// `change.before` equals `after` of the previous change of this key, which is stored, too,
  /// so it is not written again. Never set for a removal, whose key is only in that row.
  bool goes_on = false;
};

/// What a copy of the window lacks that has everything taken before.
struct unkept_changes {
  /// The copy has all changes up to there. nullopt: it is empty, and `list` has all.
  std::optional<log_index> behind;
  log_index floor; ///< changes of entries up to this one leave the copy
  /// New changes in order, after copied ones whose predecessor leaves: those lose `goes_on`.
  std::vector<kept_change> list;
};

} // namespace belay::state
