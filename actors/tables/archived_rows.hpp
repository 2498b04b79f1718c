#pragma once
// The rows of an archive (its state.bin), judged as a restore judges them: by the server that restores it, and by the
// command line before it gives a saved archive its name.

#include "protocol/state/restore/row_rules.hpp"
#include "protocol/state/restore/stored_digest.hpp"
#include "storage/checkpoint/snapshot_file.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace belay::actors {

class archived_rows {
public:
  /// Takes the next bytes of state.bin, of any number, and calls `row` for each row that a restore brings back.
  /// @returns what is wrong; empty: nothing so far
  std::string take(std::string_view state, const std::function<void(state::dirty_row)>& row);
  /// There is no more. @returns what is wrong with the whole; empty: nothing
  std::string finish();

  /// nullopt until the beginning was taken.
  const std::optional<storage::checkpoint_info>& info() const { return parser_.info(); }
  /// Of all rows so far, those that a restore leaves out, too.
  std::uint64_t bytes() const { return bytes_; }
  /// After finish(): a server of 0.2.0 wrote it with a digest that differs from that of its rows (state::stored_digest).
  bool has_fault_of_0_2_0() const { return fault_of_0_2_0_; }

private:
  status judge(const storage::row_view& row, const std::function<void(state::dirty_row)>& restored);

  // With one row each, the largest blocks are a little larger than a row may be. An archive is a client's, and what it claims
  // is believed only so far.
  static constexpr std::size_t block_bytes_max = std::size_t{64} << 20;

  storage::snapshot_parser parser_{block_bytes_max};
  state::known_services services_;
  state::stored_digest written_;
  std::uint64_t digest_ = 0; ///< of all rows
  std::uint64_t bytes_ = 0;
  bool fault_of_0_2_0_ = false;
};

} // namespace belay::actors
