#pragma once
// Checks by digest that a checkpoint, snapshot or archive has the rows that were written.

#include "protocol/state/commands.hpp"

#include <cstdint>

namespace belay::state {

class stored_digest {
public:
  /// Call for each row, in any order.
  void note(const dirty_row& row) {
    const auto* kept = std::get_if<outcome_ptr>(&row.row);
    shows_locked_key_ |= kept != nullptr && (*kept)->answer != nullptr && shows_locked_key(*(*kept)->answer);
  }

  enum class comparison : std::uint8_t {
    same,
    /// Servers of 0.2.0 included the fencing token of a locked key in a kept reply's hash
    /// but did not encode it. Each row is correct as far as its checksum and encoding show.
    fault_of_0_2_0,
    different,
  };
  /// @param of_rows the sum of the hashes of the rows (row_hash)
  comparison compare(std::uint64_t written, std::uint64_t of_rows) const {
    if (written == of_rows)
      return comparison::same;
    return shows_locked_key_ ? comparison::fault_of_0_2_0 : comparison::different;
  }

private:
  bool shows_locked_key_ = false;
};

} // namespace belay::state
