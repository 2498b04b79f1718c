#pragma once
// How a checkpoint lies in an LMDB file: the rows of the state machine's tables, and one record that says what they
// are. LMDB's keys have at most 511 bytes, a row's key may have 1 MiB; so a long key is part of the value.
//
//                LMDB's key                                         LMDB's value, behind u8 version (1) | u32 CRC32C
//   the record   u8 0                                               snapshot meta | u64 digest | u64 number of rows
//   a row        u8 1 | u8 table | key, at most 509 bytes           value
//   a long row   u8 2 | u8 table | u32 CRC32C of key | u32 ordinal  u32 bytes of the key | key | value
//
// Integers in keys are big-endian, so that LMDB's order is theirs; in values little-endian. Version and CRC: checked_values.hpp. Long keys with
// the same CRC are told apart by their ordinal. Snapshot meta: protocol/wire/entry_codec.hpp.
//
// Nothing else may stand in this file: servers up to 0.2.0 count what is in it, and call the rest damage.
//
// Functions that return an int return 0 or the code of LMDB or the system that made them fail.

#include "storage/checkpoint/checkpoint_store.hpp"
#include "storage/checkpoint/checks_ahead.hpp"
#include "storage/checkpoint/lmdb_env.hpp"

#include <functional>
#include <optional>

namespace belay::storage {

inline constexpr std::size_t lmdb_key_bytes_max = 511;
inline constexpr char short_row_tag = 1; ///< the first byte of the key of a row that is not long

/// A row; the views point into something that outlives it.
struct row_view {
  std::uint8_t table = 0;
  std::string_view key;
  std::string_view value;

  bool before(const row_view& other) const { return table != other.table ? table < other.table : key < other.key; }
};

/// True for keys that make a long row.
bool is_long_key(std::string_view key);

/// The value of one row, its checksum compared. MDB_NOTFOUND: there is no such row; MDB_CORRUPTED: damaged.
int get_row(lmdb_transaction& txn, std::uint8_t table, std::string_view key, std::string_view& value);
/// Adds or replaces one row.
int put_row(lmdb_transaction& txn, const row_view& row);
/// Removes one row; 0 also if there is none.
int remove_row(lmdb_transaction& txn, std::uint8_t table, std::string_view key);

/// Fills an empty file fast, with rows that come in (table, key) order. Long rows are kept in memory until finish(),
/// because LMDB has them behind all others.
class row_appender {
public:
  explicit row_appender(lmdb_transaction& txn) : txn_(txn) {}
  /// Commits now and then, so that memory stays bounded: only for a file that is not in use yet.
  /// @returns EINVAL if the row is not behind the one before.
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

/// Writes the record; the number of rows is counted by LMDB.
int put_info(lmdb_transaction& txn, const checkpoint_info& info);

struct stored_info {
  checkpoint_info info;
  std::uint64_t rows = 0;
};
/// nullopt: an empty file. Failure: damaged.
result<std::optional<stored_info>> get_info(lmdb_transaction& txn, const std::string& path);

/// All rows in (table, key) order. `row` may end it with a failure. Checksums and the number of rows are checked, each checksum
/// before `row` is called.
/// @param ahead who checks the rows with short_row_tag; null: that is done here
status each_row(lmdb_transaction& txn, const std::string& path, const std::function<status(const row_view&)>& row,
                checks_ahead* ahead = nullptr);

} // namespace belay::storage
