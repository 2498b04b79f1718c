#pragma once
// Hashes rows that were read back from a file. A checkpoint is proven when its rows, decoded as
// at a start, add up to the digest of the state machine that it was written with.

#include "protocol/state/restore/stored_digest.hpp"
#include "storage/checkpoint/checkpoint_rows.hpp"

#include <cstdint>
#include <string>

namespace belay::storage {

/// Table, kind of row and key, for the log.
std::string name_of_row(std::uint8_t table, std::string_view key);

/// Hash of a row, by its bytes; nullopt: they cannot be decoded.
/// wire::row_hash_of, except in tests with meaningless rows.
using row_hash_function = std::optional<std::uint64_t> (*)(std::uint8_t table, std::string_view key,
                                                           std::string_view value);
extern const row_hash_function hash_of_state_rows;

class row_sum {
public:
  /// @param digest of rows that were added before
  explicit row_sum(row_hash_function hash, std::uint64_t digest = 0) : hash_(hash), sum_(digest) {}

  /// @returns a failure of the kind `unproven` that names the row if it cannot be decoded
  status add(const row_view& row);
  std::uint64_t digest() const { return sum_; }
  /// Compares the sum of a whole file's rows with the digest in the file.
  state::stored_digest::comparison compare(std::uint64_t written) const { return digest_.compare(written, sum_); }

private:
  row_hash_function hash_;
  std::uint64_t sum_;
  state::stored_digest digest_;
};

} // namespace belay::storage
