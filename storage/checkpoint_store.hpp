#pragma once
// Where the state machine's tables rest between restarts. Implemented by lmdb_checkpoint and by the simulator.

#include "protocol/base/result.hpp"
#include "protocol/raft/types.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::storage {

/// One row of one table: `value` null means the row is gone. Tables are small numbers owned by protocol/wire.
struct row_change {
  std::uint8_t table = 0;
  std::string key;
  payload value;
};

/// All changes between two applied indexes; becomes ONE transaction (R20).
struct checkpoint_delta {
  raft::snapshot_meta meta;
  std::uint64_t digest = 0; ///< of the state machine at meta.index
  bool full = false;        ///< true: everything not named here is gone (after a restore)
  std::vector<row_change> rows;
};

struct checkpoint_info {
  raft::snapshot_meta meta;
  std::uint64_t digest = 0;
};

/// One owner, one thread (LMDB write transactions belong to a thread; none is open between calls).
class checkpoint_store {
public:
  virtual ~checkpoint_store() = default;

  /// What the checkpoint holds; nullopt: nothing yet.
  virtual result<std::optional<checkpoint_info>> info() = 0;
  /// All rows in (table, key) order, from one consistent view.
  virtual status
  load(const std::function<void(std::uint8_t table, std::string_view key, std::string_view value)>& row) = 0;
  /// Durable upon return.
  virtual status commit(const checkpoint_delta& delta) = 0;

  // ---- snapshot out: a file of checksummed records, frozen when opened, kept until closed or replaced
  struct chunk {
    raft::snapshot_meta meta;
    payload bytes;
    bool last = false;
    std::uint64_t total_bytes = 0; ///< of the whole snapshot
  };
  /// `index` zero: newest (freezes a new view if the newest frozen one is older than the checkpoint); else exactly that
  /// one, failure if it is gone. At most `bytes_max` bytes from `offset`.
  virtual result<chunk> read_snapshot(log_index index, std::uint64_t offset, std::size_t bytes_max) = 0;

  // ---- snapshot in
  /// Offset 0 starts afresh; otherwise must continue exactly. With `last`: verified as a whole (checksums, meta), made
  /// durable and put in force atomically, replacing the old checkpoint. @returns bytes stored so far.
  virtual result<std::uint64_t> write_snapshot(const raft::snapshot_meta& meta, std::uint64_t offset,
                                               std::string_view bytes, bool last) = 0;
};

} // namespace belay::storage
