#pragma once
// Changes of keys as the rest of the program sees them (docs/changes.md).

#include <cstdint>
#include <string>
#include <vector>

namespace belay::cli {

struct told_change {
  std::string event; ///< `set`, `delete` or `expired`
  std::string id;    ///< `INDEX.N`; empty: a key of a snapshot
  std::string place; ///< where to go on behind it, with its history; empty: a key of a snapshot
  std::string key, value, session;
  std::uint64_t flags = 0, previous_index = 0, index = 0;
};

struct told_changes {
  bool is_snapshot = false; ///< the keys as they are; what happened before is not known
  std::vector<told_change> changes;
  std::string place; ///< behind all of them
};

} // namespace belay::cli
