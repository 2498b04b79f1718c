#pragma once
// The layout of a checkpoint in an LMDB file: the rows of the state machine's tables, and one
// record about them. LMDB keys have at most 511 bytes; a longer row key is part of the value.
//
//                LMDB's key                                         LMDB's value, after u8 version (1) | u32 CRC32C
//   the record   u8 0                                               snapshot meta | u64 digest | u64 number of rows
//   a row        u8 1 | u8 table | key, at most 509 bytes           value
//   a long row   u8 2 | u8 table | u32 CRC32C of key | u32 ordinal  u32 bytes of the key | key | value
//
// Integers in keys are big-endian, for LMDB's order; in values little-endian. Version and CRC: see
// checked_values.hpp. Ordinals separate long keys with one CRC. Meta: protocol/wire/entry_codec.hpp
//
// Nothing else may be in this file: servers up to 0.2.0 count its entries, and call others damage.
//
// Functions that return an int return 0, or the error code of LMDB or the system.

#include "storage/checkpoint/checkpoint_store.hpp"
#include "storage/checkpoint/checks_ahead.hpp"
#include "storage/checkpoint/lmdb_env.hpp"

#include <functional>
#include <optional>

namespace belay::storage {

inline constexpr std::size_t lmdb_key_bytes_max = 511;
inline constexpr char short_row_tag = 1; ///< the first byte of the key of a short row

/// A row; the views refer to memory that outlives it.
struct row_view {
  std::uint8_t table = 0;
  std::string_view key;
  std::string_view value;

  bool before(const row_view& other) const { return table != other.table ? table < other.table : key < other.key; }
};

/// True for keys that make a long row.
bool is_long_key(std::string_view key);

/// The value of a row, checksum verified. MDB_NOTFOUND: no such row; MDB_CORRUPTED: damaged.
int get_row(lmdb_transaction& txn, std::uint8_t table, std::string_view key, std::string_view& value);
/// Adds or replaces one row.
int put_row(lmdb_transaction& txn, const row_view& row);
/// Removes one row; 0 also if there is none.
int remove_row(lmdb_transaction& txn, std::uint8_t table, std::string_view key);

/// Fills an empty file fast, with rows in (table, key) order. Long rows are kept in memory
/// until finish(), because LMDB sorts them after all others.
class row_appender {
public:
  explicit row_appender(lmdb_transaction& txn) : txn_(txn) {}
  /// Commits from time to time, so that memory stays bounded: only for a file that is not in
  /// use yet. @returns EINVAL if the row is not after the previous one.
  int add(const row_view& row);
  int finish();

private:
  struct owned_row {
    std::uint8_t table;
    std::string key;
    std::string value;
  };
  lmdb_transaction& txn_;
  bool any_ = false;
  std::uint8_t last_table_ = 0;
  std::string last_key_;
  std::vector<owned_row> long_rows_;
  std::size_t uncommitted_bytes_ = 0;
};

/// Writes the record; LMDB counts the rows.
int put_info(lmdb_transaction& txn, const checkpoint_info& info);

struct stored_info {
  checkpoint_info info;
  std::uint64_t rows = 0;
};
/// nullopt: an empty file. Failure: damaged.
result<std::optional<stored_info>> get_info(lmdb_transaction& txn, const std::string& path);

/// All rows in (table, key) order. `row` may end it with a failure.
/// Verifies checksums and the number of rows, each checksum before `row` is called.
/// @param ahead verifies the rows with short_row_tag; null: this thread does
status each_row(lmdb_transaction& txn, const std::string& path, const std::function<status(const row_view&)>& row,
                checks_ahead* ahead = nullptr);

} // namespace belay::storage
