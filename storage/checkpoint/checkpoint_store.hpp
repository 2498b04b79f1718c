#pragma once
// The interface to checkpoints: the state machine's tables on a disk, as they stood at one index of the Raft log. A
// restart begins with them, and snapshots for other servers are made of them. Implemented by
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
  /// Appends the bytes of the row; null: the row is gone. Called when the row is written, perhaps again, so that the bytes of a large
  /// checkpoint are never in memory all at once.
  std::function<void(std::string& out)> append_value;
  std::size_t bytes_max = 0; ///< at least as many as it appends
};

/// All changes between two applied indexes; becomes ONE transaction (docs/pitfalls.md R20).
struct checkpoint_delta {
  raft::snapshot_meta meta;
  std::uint64_t digest = 0; ///< of the state machine at meta.index: the sum of the hashes of its rows
  bool full = false;        ///< true: `rows` are all there is, as after a restore
  std::vector<row_change> rows;
  bool read_whole = false; ///< prove all rows of the file, not only those of this commit
  /// What rows[i] counts for in the digest; asked only for the name of a row that reads back different. Null: no name.
  std::function<std::uint64_t(std::size_t i)> hash_of = {};
};

struct checkpoint_info {
  raft::snapshot_meta meta;
  std::uint64_t digest = 0;
};

/// One change of a key: where it stands in the log, and bytes that protocol/wire owns.
struct kept_row {
  log_index index;
  std::uint64_t effect = 0;
  std::function<void(std::string& out)> append_value; ///< never null; as row_change's
  std::size_t bytes_max = 0;                          ///< at least as many as it appends
};

/// The bytes of a row_change that is not gone, or of a kept_row, made in `room`, in place of what is there.
template <class Row>
std::string_view value_of(const Row& row, std::string& room) {
  room.clear();
  row.append_value(room);
  return room;
}

/// What the window of changes beside the checkpoint lacks (state::unkept_changes).
struct kept_delta {
  /// What is kept must reach there; rows of later entries go. nullopt: all that is kept goes.
  std::optional<log_index> behind;
  log_index floor; ///< rows of entries up to this one go
  /// Those of later entries than `behind` in ascending order; others take the place of one that is there.
  std::vector<kept_row> rows;
};

/// Judges a snapshot that arrives, beyond what bytes and checksums say, before it takes the place of anything.
class snapshot_judge {
public:
  virtual ~snapshot_judge() = default;
  /// In order, once each. A failure ends it.
  virtual status row(std::uint8_t table, std::string_view key, std::string_view value) = 0;
  /// All rows were there.
  virtual status whole(const checkpoint_info& info) = 0;
};

/// Used by one thread, because a write transaction of LMDB belongs to a thread. None is open between calls.
class checkpoint_store {
public:
  virtual ~checkpoint_store() = default;

  /// What the checkpoint holds; nullopt: nothing yet.
  virtual result<std::optional<checkpoint_info>> info() = 0;
  /// All rows in (table, key) order, from one consistent view.
  virtual status
  load(const std::function<void(std::uint8_t table, std::string_view key, std::string_view value)>& row) = 0;
  /// Durable and proven upon return: what was written was read back from the file, and the rows of the file add up to the
  /// digest. A failure of the kind `unproven` means that they do not; the text names the first row that differs. The
  /// checkpoint before is in force then, or an older one (info() says which), and the next commit must be full.
  virtual status commit(const checkpoint_delta& delta) = 0;

  // ---- the older generation: a copy of an earlier checkpoint, for a start that finds the newest one damaged
  /// Index of the copy; nullopt: there is none.
  virtual std::optional<log_index> older_index() const = 0;
  /// Of the newest checkpoint on the disk.
  virtual std::uint64_t bytes() const = 0;
  /// Replaces the copy by one of the checkpoint in force, durable and proven upon return. After a failure the copy before
  /// is there. @returns its bytes
  virtual result<std::uint64_t> keep_older() = 0;
  /// The checkpoint in force cannot be loaded: puts the next older one in force.
  /// @returns what it is, for the log; nullopt: there is no other one
  virtual result<std::optional<std::string>> fall_back() = 0;
  /// Puts an empty checkpoint in force, for a start from a log that begins with the first entry.
  /// @returns a failure if there is an older generation, even a damaged one: such a log may have been replaced by a snapshot
  virtual status start_empty() = 0;

  // ---- the window of changes, beside the checkpoint: a commit does not depend on it
  /// Durable upon return. It belongs to the checkpoint that is there, up to its index, and to the one that is committed next, if that is `next`.
  /// @returns false: what is kept does not reach `behind`, and all is needed. Nothing was changed then.
  virtual result<bool> keep_changes(const checkpoint_info& next, const kept_delta& delta) = 0;
  /// All rows up to the index of the checkpoint that is there, in their order. @returns the floor behind which all are there; nullopt: what is
  /// kept belongs to another checkpoint, or nothing is. A failure: it is damaged. Use what `row` got only if a floor is returned.
  virtual result<std::optional<log_index>>
  load_changes(const std::function<void(log_index index, std::uint64_t effect, std::string_view value)>& row) = 0;

  // ---- snapshot out: a file (snapshot_file.hpp) made of the checkpoint when it is first asked for. Later commits do
  // not change it. Some of the newest are kept.
  struct chunk {
    raft::snapshot_meta meta;
    payload bytes;
    bool last = false;
    std::uint64_t total_bytes = 0; ///< of the whole snapshot
  };
  /// At most `bytes_max` bytes from `offset` of the snapshot of exactly that index; a failure if it is gone. `index`
  /// zero: of the newest checkpoint, of which a snapshot is made if there is none.
  virtual result<chunk> read_snapshot(log_index index, std::uint64_t offset, std::size_t bytes_max) = 0;

  // ---- snapshot in
  /// Offset 0 begins anew; otherwise the bytes must follow those stored so far. With `last` the whole is checked
  /// (checksums, meta, and then by `judge`, which may be null), made durable, and takes the place of the checkpoint in
  /// one step. If anything is wrong with it, the checkpoint stays as it was. @returns bytes stored so far.
  virtual result<std::uint64_t> write_snapshot(const raft::snapshot_meta& meta, std::uint64_t offset,
                                               std::string_view bytes, bool last, snapshot_judge* judge) = 0;
  result<std::uint64_t> write_snapshot(const raft::snapshot_meta& meta, std::uint64_t offset, std::string_view bytes,
                                       bool last) {
    return write_snapshot(meta, offset, bytes, last, nullptr);
  }
};

} // namespace belay::storage
