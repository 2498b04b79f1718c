#pragma once
// Sorts the keys of a restore while its parts arrive, so that the entry that commits the restore
// has little left to do. Not replicated. A server that has not seen all parts (because it started,
// or received a snapshot, in between) does all of the work in that entry, with the same result.

#include "protocol/state/tables.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace belay::state {

/// Rows of an archive on their way into new tables.
struct restored_rows {
  std::unique_ptr<tables> fresh = std::make_unique<tables>(); ///< only its keys, which are being loaded
  std::vector<dirty_row> others;                              ///< rows of all other tables, in their order
  std::set<std::string> locked;                               ///< keys of which some row had a holder or fencing token
  log_index newest;                                           ///< largest index of any key

  restored_rows();
  /// Sorts the row into one of these.
  void take(const dirty_row& row);
};

class keys_ahead {
public:
  explicit keys_ahead(std::string restore_id) : id_(std::move(restore_id)) {}

  const std::string& id() const { return id_; }
  /// A part that was staged. @pre it belongs to this restore
  void add(std::uint64_t number, const row_batch& rows);
  /// Whether it has seen all staged parts, and no key's index is above `index` and must be lowered.
  bool fits(const restore_head& head, log_index index) const;
  restored_rows take() { return std::move(rows_); }

private:
  std::string id_;
  std::uint64_t parts_ = 0;
  restored_rows rows_;
};

} // namespace belay::state
