#pragma once
// The checkpoint store of a server: one LMDB file for the checkpoint, flat files for snapshots.
// In a data directory:
//
//   state/lock                            held while the store is open
//   state/checkpoint.mdb                  the checkpoint
//   state/older.snapshot, older.new       a copy of an earlier one (older_generation.hpp)
//   state/changes.mdb                     the window of changes; may be missing
//   state/new.mdb, new_changes.mdb        a new file under construction; renamed once it is durable
//   snapshots/0000000000000042.snapshot   for followers (named by index); removed at the next start
//   snapshots/incoming                    sent by a leader; removed at the next start
//
// Layouts: LMDB files in checkpoint_rows.hpp and kept_window.hpp, snapshots in snapshot_file.hpp.
//
// A commit is one synced LMDB transaction. Full ones and snapshots make a new file (lmdb_file.hpp).
//
// Each commit is proven: its rows are read back from the file, decoded and hashed. The sum over
// the file's rows is carried from commit to commit (minus replaced rows, plus rows read back), and
// must equal the state machine's digest. The first commit of a process, full ones, and those with
// read_whole read all rows; a new file is read before it is renamed. Reverting: lmdb_meta.hpp.
//
// At a start the pages of a file are checked before LMDB maps it (lmdb_pages.hpp).

#include "storage/checkpoint/checkpoint_store.hpp"
#include "storage/checkpoint/kept_window.hpp"
#include "storage/checkpoint/lmdb_file.hpp"
#include "storage/checkpoint/older_generation.hpp"
#include "storage/checkpoint/row_proof.hpp"
#include "storage/file_system.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace belay::storage {

struct lmdb_checkpoint_options {
  /// Address space reserved at first, not disk space; doubled when needed.
  std::uint64_t map_bytes = 1ull << 30;
  /// Maximum: then commits fail for lack of space.
  std::uint64_t map_bytes_max = 256ull << 30;
  /// Snapshots kept, so that a slow follower can finish one while another begins the next; at least
  /// 1. A new one replaces the one that was not read for longest.
  std::size_t frozen_max = 2;
  file_system* files = nullptr; ///< null: the operating system's
  /// For tests: called when a commit or a new file is durable, before it is proven.
  std::function<void()> before_proof = {};
  /// For measurements: called when a commit has been proven, or not.
  std::function<void()> after_proof = {};
  row_hash_function row_hash = hash_of_state_rows;
  bool checks_ahead = true;       ///< loads verify checksums on a thread of their own
  bool always_read_whole = false; ///< each commit is proven by all rows of the file
};

class lmdb_checkpoint : public checkpoint_store {
public:
  /// Creates folders in `data_directory` if missing, takes the lock, removes leftovers of a crash.
  static result<std::unique_ptr<lmdb_checkpoint>> open(const std::string& data_directory,
                                                       lmdb_checkpoint_options options = {});

  result<std::optional<checkpoint_info>> info() override;
  /// `row` is called before the last row is checked: use the rows only if the result is a success.
  status load(const std::function<void(std::uint8_t, std::string_view, std::string_view)>& row) override;
  /// A failure of the kind no_space or unproven leaves the old checkpoint in force and the store
  /// usable. After any other failure the store must not be used again.
  status commit(const checkpoint_delta& delta) override;
  std::optional<log_index> older_index() const override;
  std::uint64_t bytes() const override { return rows_.is_open() ? rows_.env().used_bytes() : 0; }
  result<std::uint64_t> keep_older() override;
  result<std::optional<std::string>> fall_back() override;
  status start_empty() override;
  result<bool> keep_changes(const checkpoint_info& next, const kept_delta& delta) override;
  result<std::optional<log_index>>
  load_changes(const std::function<void(log_index, std::uint64_t, std::string_view)>& row) override;
  result<chunk> read_snapshot(log_index index, std::uint64_t offset, std::size_t bytes_max) override;
  /// After a failure the old checkpoint is in force, and the next call must begin at offset 0.
  using checkpoint_store::write_snapshot;
  result<std::uint64_t> write_snapshot(const raft::snapshot_meta& meta, std::uint64_t offset, std::string_view bytes,
                                       bool last, snapshot_validator* validator) override;

  /// Size of the map, for operators and tests.
  std::uint64_t map_bytes() const { return rows_.env().map_bytes(); }

private:
  /// A snapshot for followers.
  struct frozen_view {
    raft::snapshot_meta meta;
    std::string path;
    std::unique_ptr<file> f;
    std::uint64_t bytes = 0;
  };
  struct incoming_snapshot {
    raft::snapshot_meta meta;
    std::unique_ptr<file> f;
    std::uint64_t bytes = 0;
  };

  lmdb_checkpoint(const std::string& state, std::string snapshots, lmdb_checkpoint_options options,
                  std::unique_ptr<file_lock> lock);

  status remove_leftovers();
  status open_rows();
  using sorted_rows = std::vector<const row_change*>;
  static sorted_rows sorted(const checkpoint_delta& delta);
  status commit_changes(const checkpoint_delta& delta);
  status commit_full(const checkpoint_delta& delta);
  status prove_changes(const checkpoint_delta& delta, const sorted_rows& rows, std::uint64_t replaced);
  status prove_whole(lmdb_env& env, const checkpoint_info& written,
                     state::stored_digest::comparison excused = state::stored_digest::comparison::same);
  failure name_difference(const checkpoint_delta& delta, const sorted_rows& rows, lmdb_env& env) const;
  status take_back();
  status install_older();
  result<frozen_view*> frozen(log_index index);
  status freeze(const checkpoint_info& now);
  status install(snapshot_validator* validator);
  status install_from(file& f, std::uint64_t bytes, const std::function<status(const checkpoint_info&)>& whole,
                      snapshot_validator* validator);
  /// Why the store must not be used; empty: it may.
  const std::string& dead() const { return rows_.dead().empty() ? kept_.dead() : rows_.dead(); }

  file_system& files_;
  std::string snapshots_;
  std::size_t frozen_max_;
  row_hash_function hash_;
  bool checks_ahead_, always_whole_;
  std::function<void()> before_proof_, after_proof_;
  std::string unreadable_; ///< why the file could not be opened; empty: it is open
  std::unique_ptr<file_lock> lock_;
  lmdb_file rows_;
  std::optional<std::uint64_t> proven_digest_; ///< digest of the file's rows; nullopt: the next commit is proven whole
  older_generation older_;
  enum class fallback : std::uint8_t { none, commit_before, older } fallen_back_ = fallback::none;
  kept_window kept_;
  std::deque<frozen_view> frozen_; ///< the one that was read last at the end
  std::optional<incoming_snapshot> incoming_;
};

} // namespace belay::storage
