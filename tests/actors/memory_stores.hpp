#pragma once
// Disks of a simulated node: they outlive its actors, and they can be full.

#include "storage/checkpoint_store.hpp"
#include "storage/log_store.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::actors::testing {

/// Every append is durable upon return.
class memory_log final : public storage::log_store {
public:
  result<storage::loaded_log> load() override { return kept_; }
  status append(const std::vector<raft::persist_batch>& batches) override;
  status compact(log_index first_kept) override;

  void set_full(bool full) { full_ = full; }
  std::size_t refused_appends() const { return refused_; }
  const storage::loaded_log& kept() const { return kept_; }

private:
  storage::loaded_log kept_;
  bool full_ = false;
  std::size_t refused_ = 0;
};

/// A commit is durable upon return. Snapshots are read from a frozen copy, as from a disk.
class memory_checkpoints final : public storage::checkpoint_store {
public:
  result<std::optional<storage::checkpoint_info>> info() override { return info_; }
  status load(const std::function<void(std::uint8_t, std::string_view, std::string_view)>& row) override;
  status commit(const storage::checkpoint_delta& delta) override;
  result<chunk> read_snapshot(log_index index, std::uint64_t offset, std::size_t bytes_max) override;
  result<std::uint64_t> write_snapshot(const raft::snapshot_meta& meta, std::uint64_t offset, std::string_view bytes,
                                       bool last) override;

  void set_full(bool full) { full_ = full; }
  std::size_t refused_commits() const { return refused_; }
  /// Of each commit that was kept: whether it replaced everything.
  const std::vector<bool>& commits() const { return commits_; }
  /// Snapshots put in force here, and the chunks they came in.
  std::size_t installed() const { return installed_; }
  std::size_t chunks_written() const { return chunks_written_; }

private:
  struct frozen {
    raft::snapshot_meta meta;
    std::string bytes;
  };

  std::string to_bytes() const;
  status put_in_force(const frozen& snapshot);

  std::map<std::pair<std::uint8_t, std::string>, std::string> rows_;
  std::optional<storage::checkpoint_info> info_;
  std::optional<frozen> outgoing_, incoming_;
  bool full_ = false;
  std::size_t refused_ = 0, installed_ = 0, chunks_written_ = 0;
  std::vector<bool> commits_;
};

} // namespace belay::actors::testing
