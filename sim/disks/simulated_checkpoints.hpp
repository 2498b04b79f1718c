#pragma once
// A checkpoint store in memory. A commit is durable upon return and whole or not at all; each row has its checksum, and
// snapshots have the bytes that the real store gives them.

#include "storage/kept_record.hpp"

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::sim {

class simulated_checkpoints final : public storage::checkpoint_store {
public:
  result<std::optional<storage::checkpoint_info>> info() override;
  status load(const std::function<void(std::uint8_t, std::string_view, std::string_view)>& row) override;
  status commit(const storage::checkpoint_delta& delta) override;
  /// Done also when the commit behind it is not: the disk becomes full, fails or stops with that.
  result<bool> keep_changes(const storage::checkpoint_info& next, const storage::kept_delta& delta) override;
  result<std::optional<log_index>>
  load_changes(const std::function<void(log_index, std::uint64_t, std::string_view)>& row) override;
  result<chunk> read_snapshot(log_index index, std::uint64_t offset, std::size_t bytes_max) override;
  using checkpoint_store::write_snapshot;
  result<std::uint64_t> write_snapshot(const raft::snapshot_meta& meta, std::uint64_t offset, std::string_view bytes,
                                       bool last, storage::snapshot_judge* judge) override;

  /// The process or its machine ends: frozen and half-written snapshots are gone, faults to come are off.
  void crash();
  void wipe();

  // ---- faults. A "changing call" is a commit, the freezing of a snapshot, or a chunk that is written.
  void set_full(bool full) { full_ = full; }
  /// The n-th changing call from now fails (1: the next one), and after a commit all others. 0: none does.
  void fail_next(std::uint64_t n) { fail_in_ = n; }
  /// The next changing call is not done, nor is anything after it, until crash().
  void stop_at_next() { stop_ = true; }
  /// One bit of the next chunk that is read or written changes on its way: that of this number, modulo its bits.
  void flip_bit_of_next_chunk(std::uint64_t number) { chunk_flip_ = number; }
  /// Bits of all rows and of the record about them.
  std::uint64_t used_bits() const;
  /// @pre n < used_bits()
  void flip_bit(std::uint64_t n);

  // ---- for those who look
  struct counters {
    std::size_t full = 0, failed = 0, stopped = 0; ///< calls refused
    std::size_t chunks_flipped = 0;
  };
  const counters& counted() const { return counters_; }
  std::size_t refused_commits() const { return refused_; }
  /// Of each commit that was kept: whether it replaced everything.
  const std::vector<bool>& commits() const { return commits_; }
  /// Snapshots put in force here, and the chunks they came in.
  std::size_t installed() const { return installed_; }
  std::size_t chunks_written() const { return chunks_written_; }

private:
  using row_key = std::pair<std::uint8_t, std::string>;
  struct stored_row {
    std::string value;
    std::uint32_t crc = 0; ///< of table, key and value: a value under another key is found out as well
  };
  using row_map = std::map<row_key, stored_row>;
  struct frozen {
    raft::snapshot_meta meta;
    std::string bytes;
  };

  static std::uint32_t checksum(const row_key& key, std::string_view value);
  static void put_row(row_map& rows, std::uint8_t table, std::string_view key, std::string_view value);
  std::optional<failure> before_change(const char* what);
  failure die(std::string why);
  void put_record(const storage::checkpoint_info& i);
  /// All rows, checked.
  status each_row(const std::function<status(std::uint8_t, std::string_view, std::string_view)>& row) const;
  status freeze(const storage::checkpoint_info& now);
  status install(frozen whole, storage::snapshot_judge* judge);
  std::string on_its_way(std::string chunk);

  row_map rows_;
  std::map<std::pair<log_index, std::uint64_t>, std::string> kept_;
  std::optional<storage::kept_record> kept_for_; ///< nullopt: nothing is kept
  std::string record_; ///< meta, digest and number of rows with their checksum; empty: no checkpoint yet
  std::deque<frozen> outgoing_;
  std::optional<frozen> incoming_;
  std::string dead_; ///< why; empty: alive
  bool full_ = false;
  bool stop_ = false;
  std::uint64_t fail_in_ = 0;
  std::optional<std::uint64_t> chunk_flip_;
  counters counters_;
  std::size_t refused_ = 0, installed_ = 0, chunks_written_ = 0;
  std::vector<bool> commits_;
};

} // namespace belay::sim
