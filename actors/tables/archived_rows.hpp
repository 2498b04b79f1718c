#pragma once
// Parses and validates the rows of an archive (its state.bin). The server that restores it and
// the command line, before it keeps a saved archive, apply the same checks.

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
  /// Takes the next bytes of state.bin, any number of them, and calls `row` for each row that
  /// a restore brings back. @returns what is wrong; empty: nothing so far
  std::string take(std::string_view state, const std::function<void(state::dirty_row)>& row);
  /// Ends the input. @returns what is wrong with the whole; empty: nothing
  std::string finish();

  /// nullopt until the header was read.
  const std::optional<storage::checkpoint_info>& info() const { return parser_.info(); }
  /// Size of all rows so far, including those that a restore leaves out.
  std::uint64_t bytes() const { return bytes_; }
  /// Whether the digest is wrong because a server of 0.2.0 wrote it (state::stored_digest). @pre
  /// finish() was called
  bool has_fault_of_0_2_0() const { return fault_of_0_2_0_; }

private:
  status check(const storage::row_view& row, const std::function<void(state::dirty_row)>& restored);

  // Blocks with a single row are the largest; they are a little larger than a row may be.
  // An archive comes from a client, so the sizes that it claims are trusted only up to here.
  static constexpr std::size_t block_bytes_max = std::size_t{64} << 20;

  storage::snapshot_parser parser_{block_bytes_max};
  state::known_services services_;
  state::stored_digest written_;
  std::uint64_t digest_ = 0; ///< digest of all rows
  std::uint64_t bytes_ = 0;
  bool fault_of_0_2_0_ = false;
};

} // namespace belay::actors
