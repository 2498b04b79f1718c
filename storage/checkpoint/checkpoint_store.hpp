#pragma once
// The interface to checkpoints: the state machine's tables on a disk, as of one index of the Raft
// log. Restarts load them, and snapshots for other servers are made from them. Implemented by
// lmdb_checkpoint; the simulator wraps one (sim/disks/simulated_checkpoints.hpp).

#include "protocol/base/result.hpp"
#include "protocol/raft/types.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::storage {

/// One row of one table. Tables are small numbers owned by protocol/wire.
struct row_change {
  std::uint8_t table = 0;
  std::string key;
  /// Appends the bytes of the row; null: the row was removed. Called when the row is written,
  /// perhaps repeatedly, so that a large checkpoint is never in memory as a whole.
  std::function<void(std::string& out)> append_value;
  std::size_t bytes_max = 0; ///< upper bound of the appended bytes
};

/// All changes between two applied indexes; becomes ONE transaction (docs/internals/pitfalls.md R20).
struct checkpoint_delta {
  raft::snapshot_meta meta;
  std::uint64_t digest = 0; ///< digest of the state machine at meta.index: the sum of the hashes of its rows
  bool full = false;        ///< true: `rows` are all rows, as after a restore
  std::vector<row_change> rows;
  bool read_whole = false; ///< prove all rows of the file, not only those of this commit
  /// Hash of rows[i], needed only to name a row that reads back different. Null: no name.
  std::function<std::uint64_t(std::size_t i)> hash_of = {};
};

struct checkpoint_info {
  raft::snapshot_meta meta;
  std::uint64_t digest = 0;
};

/// One change of a key: its position in the log, and bytes owned by protocol/wire.
struct kept_row {
  log_index index;
  std::uint64_t effect = 0;
  std::function<void(std::string& out)> append_value; ///< never null; like row_change's
  std::size_t bytes_max = 0;                          ///< upper bound of the appended bytes
};

/// The bytes of a row_change that is not removed, or of a kept_row, written to the buffer `buffer`.
template <class Row>
std::string_view value_of(const Row& row, std::string& buffer) {
  buffer.clear();
  row.append_value(buffer);
  INVARIANT_IN_DEVELOPMENT(buffer.size() <= row.bytes_max); // the file's map is made large enough for that
  return buffer;
}

/// What the stored window of changes lacks (state::unkept_changes).
struct kept_delta {
  /// The stored window must reach this index; later rows are removed. nullopt: all are removed.
  std::optional<log_index> behind;
  log_index floor; ///< rows of entries up to this one are removed
  /// Rows of entries after `behind` in ascending order; others replace an existing one.
  std::vector<kept_row> rows;
};

/// Validates a received snapshot, beyond bytes and checksums, before it replaces anything.
class snapshot_validator {
public:
  virtual ~snapshot_validator() = default;
  /// Called for each row, in order. A failure ends it.
  virtual status row(std::uint8_t table, std::string_view key, std::string_view value) = 0;
  /// All rows were passed.
  virtual status whole(const checkpoint_info& info) = 0;
};

/// Use it from one thread only, like a write transaction of LMDB. No transaction is open between
/// calls.
class checkpoint_store {
public:
  virtual ~checkpoint_store() = default;

  /// Info of the checkpoint; nullopt: there is none yet.
  virtual result<std::optional<checkpoint_info>> info() = 0;
  /// All rows in (table, key) order, from one consistent view.
  virtual status
  load(const std::function<void(std::uint8_t table, std::string_view key, std::string_view value)>& row) = 0;
  /// Durable and proven on return: its rows were read back, and the file's rows add up to the
  /// digest. A failure of the kind `unproven` means that they do not, and names the first wrong
  /// row; the previous checkpoint or an older one is in force then (info()), and the next one must
  /// be full.
  virtual status commit(const checkpoint_delta& delta) = 0;

  // ---- the older generation: a copy of an earlier checkpoint, used if the newest one is damaged
  /// Index of the copy; nullopt: there is none.
  virtual std::optional<log_index> older_index() const = 0;
  /// Size of the newest checkpoint on the disk.
  virtual std::uint64_t bytes() const = 0;
  /// Replaces the copy by one of the checkpoint in force, durable and proven on return.
  /// After a failure the previous copy remains. @returns its bytes
  virtual result<std::uint64_t> keep_older() = 0;
  /// The checkpoint in force cannot be loaded: puts the next older one in force.
  /// @returns its description, for the log; nullopt: there is none
  virtual result<std::optional<std::string>> fall_back() = 0;
  /// Puts an empty checkpoint in force, for a start from a log that has the first entry.
  /// @returns a failure if there is an older generation, even a damaged one: the log may be
  /// incomplete.
  virtual status start_empty() = 0;

  // ---- the window of changes, beside the checkpoint: commits do not depend on it
  /// Durable on return. It belongs to the current checkpoint, up to its index, and to `next` when
  /// that is committed. @returns false: the window ends before `behind`, so pass all; no change
  /// made.
  virtual result<bool> keep_changes(const checkpoint_info& next, const kept_delta& delta) = 0;
  /// All rows up to the current checkpoint's index, in order. @returns the window's floor; nullopt:
  /// another checkpoint's, or none. Failure: damaged. Use `row`'s data only if a floor is returned.
  virtual result<std::optional<log_index>>
  load_changes(const std::function<void(log_index index, std::uint64_t effect, std::string_view value)>& row) = 0;

  // ---- outgoing snapshots: a file (snapshot_file.hpp) made from the checkpoint on first
  // request. Later commits do not change it. Some are kept: those that were read last.
  struct chunk {
    raft::snapshot_meta meta;
    payload bytes;
    bool last = false;
    std::uint64_t total_bytes = 0; ///< size of the whole snapshot
  };
  /// Reads at most `bytes_max` bytes from `offset` of the snapshot at exactly `index`; fails if it
  /// is gone. If `index` is zero, it reads the snapshot of the newest checkpoint, and makes one if
  /// there is none.
  virtual result<chunk> read_snapshot(log_index index, std::uint64_t offset, std::size_t bytes_max) = 0;

  // ---- incoming snapshots
  /// Offset 0 starts over; otherwise the bytes must follow those stored so far. With `last` all
  /// is checked (checksums, meta, then by `validator`, which may be null), made durable, and
  /// replaces the checkpoint atomically. On any error the checkpoint stays. @returns bytes stored
  /// so far.
  virtual result<std::uint64_t> write_snapshot(const raft::snapshot_meta& meta, std::uint64_t offset,
                                               std::string_view bytes, bool last, snapshot_validator* validator) = 0;
  result<std::uint64_t> write_snapshot(const raft::snapshot_meta& meta, std::uint64_t offset, std::string_view bytes,
                                       bool last) {
    return write_snapshot(meta, offset, bytes, last, nullptr);
  }
};

} // namespace belay::storage
