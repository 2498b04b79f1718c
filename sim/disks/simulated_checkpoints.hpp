#pragma once
// The real checkpoint store on LMDB, in a folder in memory, with faults. A restarted server gets
// only what was encoded, written and read again, never an object. A commit is atomic, and durable
// on return; tests/storage/lmdb_power_test.cpp tests LMDB on power loss.

#include "storage/checkpoint/lmdb_checkpoint.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace belay::sim {

class simulated_checkpoints final : public storage::checkpoint_store {
public:
  explicit simulated_checkpoints(storage::row_hash_function hash = storage::hash_of_state_rows);
  ~simulated_checkpoints() override;
  simulated_checkpoints(const simulated_checkpoints&) = delete;
  simulated_checkpoints& operator=(const simulated_checkpoints&) = delete;

  result<std::optional<storage::checkpoint_info>> info() override;
  status load(const std::function<void(std::uint8_t, std::string_view, std::string_view)>& row) override;
  status commit(const storage::checkpoint_delta& delta) override;
  std::optional<log_index> older_index() const override;
  std::uint64_t bytes() const override;
  result<std::uint64_t> keep_older() override;
  result<std::optional<std::string>> fall_back() override;
  status start_empty() override;
  /// May succeed although the next commit does not: the disk may fill, fail or stop in that commit.
  result<bool> keep_changes(const storage::checkpoint_info& next, const storage::kept_delta& delta) override;
  result<std::optional<log_index>>
  load_changes(const std::function<void(log_index, std::uint64_t, std::string_view)>& row) override;
  result<chunk> read_snapshot(log_index index, std::uint64_t offset, std::size_t bytes_max) override;
  using checkpoint_store::write_snapshot;
  result<std::uint64_t> write_snapshot(const raft::snapshot_meta& meta, std::uint64_t offset, std::string_view bytes,
                                       bool last, storage::snapshot_validator* validator) override;

  /// The process or machine ends: frozen and half-written snapshots are gone, planned faults off.
  void crash();
  void wipe();

  // ---- faults. A "changing call" commits, freezes a snapshot or generation, or writes a chunk.
  void set_full(bool full) { full_ = full; }
  /// The n-th changing call from now fails (1: the next), and after a commit all others. 0: none.
  void fail_next(std::uint64_t n) { fail_in_ = n; }
  /// The next changing call is not done, nor is anything after it, until crash().
  void stop_at_next() { stop_ = true; }
  /// Flips a bit of the next chunk that is read or written: this number modulo the chunk's bits.
  void flip_bit_of_next_chunk(std::uint64_t number) { chunk_flip_ = number; }
  /// Flips a bit of the file between the next commit and its verification, modulo its bits.
  void damage_next_commit(std::uint64_t number) { commit_flip_ = number; }
  /// Bits of all rows and of the record about them.
  std::uint64_t used_bits() const;
  /// @pre n < used_bits()
  void flip_bit(std::uint64_t n);

  // ---- observers
  struct counters {
    std::size_t full = 0, failed = 0, stopped = 0; ///< rejected calls
    std::size_t chunks_flipped = 0, commits_damaged = 0;
    std::size_t bits_flipped = 0;
    std::size_t unproven = 0;    ///< commits that read back differently
    std::size_t fallen_back = 0; ///< starts from an older checkpoint
  };
  const counters& counted() const { return counters_; }
  std::size_t refused_commits() const { return refused_; }
  /// For each commit that was kept: whether it replaced all rows.
  const std::vector<bool>& commits() const { return commits_; }
  /// Snapshots put in force here, and their chunks.
  std::size_t installed() const { return installed_; }
  std::size_t chunks_written() const { return chunks_written_; }

private:
  std::optional<failure> before_change(const char* what);
  failure die(std::string why);
  std::string on_its_way(std::string chunk);
  /// The store, which a restart opens again; null: dead_ says why.
  storage::lmdb_checkpoint* open() const;

  storage::row_hash_function hash_;
  std::string folder_;
  mutable std::unique_ptr<storage::lmdb_checkpoint> store_;
  mutable std::string dead_; ///< why; empty: alive
  bool full_ = false;
  bool stop_ = false;
  std::uint64_t fail_in_ = 0;
  std::optional<std::uint64_t> chunk_flip_, commit_flip_;
  bool incoming_refused_ = false;
  log_index frozen_; ///< index of the newest snapshot that was frozen
  counters counters_;
  std::size_t refused_ = 0, installed_ = 0, chunks_written_ = 0;
  std::vector<bool> commits_;
};

} // namespace belay::sim
