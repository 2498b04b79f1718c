#pragma once
// The keys of a restore, put in order while its parts arrive, so that the entry that puts it in force has little left to do. Not
// replicated: a server that has not seen all parts (it was started, or got a snapshot, in between) does all of it in that entry, with
// the same result.

#include "protocol/state/tables.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace belay::state {

/// Rows of an archive on their way into fresh tables.
struct restored_rows {
  std::unique_ptr<tables> fresh = std::make_unique<tables>(); ///< with its keys only; they are being loaded
  std::vector<dirty_row> others;                              ///< rows of all other tables, in their order
  std::set<std::string> locked;                               ///< keys of which some row has had a holder, or a fence
  log_index newest;                                           ///< of the indexes of keys

  restored_rows();
  /// Sorts it into one of these.
  void take(const dirty_row& row);
};

class keys_ahead {
public:
  explicit keys_ahead(std::string restore_id) : id_(std::move(restore_id)) {}

  const std::string& id() const { return id_; }
  /// A part that was staged. @pre it belongs to this restore
  void add(std::uint64_t number, const row_batch& rows);
  /// Whether it has seen all parts of what is staged, and no key has an index above `index`, to which it would have to be lowered.
  bool fits(const restore_head& head, log_index index) const;
  restored_rows take() { return std::move(rows_); }

private:
  std::string id_;
  std::uint64_t parts_ = 0;
  restored_rows rows_;
};

} // namespace belay::state
