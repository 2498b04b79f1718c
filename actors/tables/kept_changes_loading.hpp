#pragma once
// Reads the window of changes that is stored beside a checkpoint, at a start. Values that the Raft
// log contains, too, are not stored: they are read from the log.

#include "protocol/raft/core.hpp"
#include "protocol/state/machine.hpp"
#include "protocol/wire/change_codec.hpp"
#include "storage/checkpoint/checkpoint_store.hpp"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace belay::actors {

class kept_changes {
public:
  /// No changes.
  kept_changes() = default;
  /// @returns no changes if they belong to another checkpoint, or are damaged, which is logged: the
  ///          server starts without them, and clients that follow changes resync
  static kept_changes read(storage::checkpoint_store& store);

  /// Index of the first log entry that contains a value; nullopt: none does.
  std::optional<log_index> first_needed() const;
  /// Loads the changes into the machine of that checkpoint, or none if a value is missing.
  /// @param log contiguous
  void load_into(state::machine& machine, const std::vector<raft::entry>& log) &&;

private:
  std::optional<log_index> floor_; ///< nullopt: there are no changes
  std::vector<state::kept_change> list_;
  std::vector<std::pair<std::size_t, wire::value_place>> values_; ///< position in list_, and its value
};

} // namespace belay::actors
