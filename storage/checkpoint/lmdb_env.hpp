#pragma once
// RAII wrappers of LMDB's C handles (environment, transaction, cursor), for this server's use:
// one (unnamed) database per file, one thread, one transaction at a time.

#include "protocol/base/result.hpp"

#include <lmdb.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace belay::storage {

/// The failure for a code of LMDB or the system. Its kind is no_space if a full disk, a quota or a
/// file size limit is the reason.
failure lmdb_failure(const std::string& what, const std::string& path, int code);

enum class lmdb_use : std::uint8_t {
  live,  ///< each commit is durable
  build, ///< commits are not durable before sync(): for a file that has no name yet
};

/// An open environment in one file, created if missing. No other process may have it open.
class lmdb_env {
public:
  static result<std::unique_ptr<lmdb_env>> open(const std::string& path, lmdb_use use, std::uint64_t map_bytes);
  ~lmdb_env();
  lmdb_env(const lmdb_env&) = delete;
  lmdb_env& operator=(const lmdb_env&) = delete;

  MDB_env* raw() const { return env_; }
  const std::string& path() const { return path_; }
  /// Bytes of the file that were ever used.
  std::uint64_t used_bytes() const;
  std::uint64_t map_bytes() const;
  /// @pre no transaction is open
  status resize(std::uint64_t map_bytes);
  status sync();
  /// Starts to write the file to the disk. A paced thread waits for it (paced_writeback.hpp).
  /// @returns as write_back(): an error is that of the next sync
  int begin_writeback();
  /// Removes the file's pages from this process's memory. The system keeps them while it has
  /// memory.
  void drop_pages();

private:
  lmdb_env(MDB_env* env, std::string path) : env_(env), path_(std::move(path)) {}

  MDB_env* env_;
  std::string path_;
};

/// Aborted by the destructor unless committed. Calls return LMDB's codes, which callers evaluate.
class lmdb_transaction {
public:
  lmdb_transaction() = default;
  ~lmdb_transaction();
  lmdb_transaction(const lmdb_transaction&) = delete;
  lmdb_transaction& operator=(const lmdb_transaction&) = delete;

  int begin(lmdb_env& env, bool write);
  int get(std::string_view key, std::string_view& value);
  /// Reserves a value of `value_bytes` and sets `buffer` to its memory: fill it at once.
  int reserve(std::string_view key, std::size_t value_bytes, unsigned flags, char*& buffer);
  int remove(std::string_view key);
  int entries(std::uint64_t& n);
  int commit();
  /// Like commit(), but starts the writeback, and begins a new transaction for the next part.
  int commit_and_go_on();

  MDB_txn* raw() const { return txn_; }
  MDB_dbi dbi() const { return dbi_; }

private:
  lmdb_env* env_ = nullptr;
  MDB_txn* txn_ = nullptr;
  MDB_dbi dbi_ = 0;
};

/// A position in the order of keys. @pre destroyed before its transaction ends
class lmdb_cursor {
public:
  lmdb_cursor() = default;
  ~lmdb_cursor();
  lmdb_cursor(const lmdb_cursor&) = delete;
  lmdb_cursor& operator=(const lmdb_cursor&) = delete;

  int open(lmdb_transaction& txn);
  /// Moves to the first key not less than `from`. MDB_NOTFOUND: none.
  int seek(std::string_view from);
  int next();
  /// Moves to the last key. MDB_NOTFOUND: there is none.
  int last();
  /// Removes the current entry; next() then goes to the one after it.
  int remove();
  /// Valid until the transaction ends or writes.
  std::string_view key() const { return {static_cast<const char*>(key_.mv_data), key_.mv_size}; }
  std::string_view value() const { return {static_cast<const char*>(value_.mv_data), value_.mv_size}; }

private:
  MDB_cursor* cursor_ = nullptr;
  MDB_val key_{};
  MDB_val value_{};
};

} // namespace belay::storage
