#pragma once
// How rows and the record about them lie in an LMDB file. LMDB's keys have at most 511 bytes, ours up to 1 MiB.
//
//   key                                                      value
//   0x00                                                     u8 version (1) | u32 CRC32C | snapshot meta | u64 digest |
//   u64 rows 0x01 | u8 table | key (at most 509 bytes)                u8 version (1) | u32 CRC32C | value 0x02 | u8
//   table | u64 hash of key | u32 ordinal          u8 version (1) | u32 CRC32C | u32 key bytes | key | value
//
// Integers in keys are big-endian, so that LMDB's order is theirs; in values little-endian. A CRC covers LMDB's key and
// what follows it in the value: a value under another key is found out as well. Long keys with the same CRC differ in
// their ordinal. All LMDB codes not named are passed on.

#include "storage/checkpoint_store.hpp"
#include "storage/lmdb_env.hpp"

#include <functional>
#include <optional>

namespace belay::storage {

inline constexpr std::size_t lmdb_key_bytes_max = 511;

/// A row as views into something that lives longer.
struct row_view {
  std::uint8_t table = 0;
  std::string_view key;
  std::string_view value;

  bool before(const row_view& other) const { return table != other.table ? table < other.table : key < other.key; }
};

/// True for keys that lie under their checksum.
bool is_long_key(std::string_view key);

/// Adds or replaces one row.
int put_row(lmdb_transaction& txn, const row_view& row);
/// Removes one row; 0 also if there is none.
int remove_row(lmdb_transaction& txn, std::uint8_t table, std::string_view key);

/// Fills an empty file fast: rows go in as they come in (table, key) order, those with long keys are kept for the end.
class row_appender {
public:
  explicit row_appender(lmdb_transaction& txn) : txn_(txn) {}
  /// Commits now and then, so that memory stays bounded: for files that have no name yet.
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

/// All rows in (table, key) order. `row` may end it with a failure. Checksums and the number of rows are checked.
status each_row(lmdb_transaction& txn, const std::string& path, const std::function<status(const row_view&)>& row);

} // namespace belay::storage
