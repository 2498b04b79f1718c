#pragma once
// Stages the rows of an archive until all have arrived. They are ordinary rows of the state
// machine, covered by checkpoints, snapshots and the digest, but no read or write uses them.

#include "protocol/state/undo_logged_map.hpp"

namespace belay::state {

/// One restore at a time: a newer one replaces an older one. machine::refuse_early checks before
/// proposing that the older one is inactive; in apply() the newer one wins, in all versions.
class staging {
public:
  /// A restore is dropped if no part was applied for this cluster time: its client or server has
  /// failed.
  static constexpr std::uint64_t idle_ms_max = 120'000;

  /// Other restores are rejected for so much cluster time after a part. Parts are 256 KiB of rows,
  /// seconds on slow links; well below idle_ms_max, so a client that disconnected does not block
  /// long.
  static constexpr std::uint64_t fresh_ms_max = 30'000;

  explicit staging(undo_log& log) : log_(log), rows_(log, table::staging) {}

  void begin(const std::string& id, log_index archive_index, cluster_time now);
  /// Adds the batch, if it is missing. @returns why not; nullopt: it is there.
  std::optional<std::string> add(const std::string& id, std::uint64_t number, row_batch rows, cluster_time now);
  /// Drops everything if it belongs to that restore and was not committed.
  void abort(const std::string& id);
  /// Drops an idle restore. Called for every log entry, so that all nodes have the same rows.
  void expire(cluster_time now);
  /// Why this restore cannot be committed; nullopt: it can, or already was (head()->in_force).
  std::optional<std::string> unfit(const std::string& id, std::uint64_t batches) const;
  /// Remembers that the restore was committed, for a retry whose response was lost.
  void note_in_force(const std::string& id, cluster_time now);

  /// Whether another restore is in progress.
  bool busy_with_another(const std::string& id, cluster_time now) const;

  /// Null: no restore is in progress.
  const restore_head* head() const;
  /// Calls `f(row_batch)` in the order of the batches.
  template <class F>
  void for_each_batch(F&& f) const {
    rows_.for_each_under(batch_prefix, [&](const staged_ptr& each) { f(std::get<row_batch>(each->part)); });
  }

  void put(staged_ptr row);
  void erase(std::string_view key) { rows_.erase(key); }
  const undo_logged_map<staged_ptr>& rows() const { return rows_; }
  auto maps() const { return std::tie(rows_); }
  auto beside() const { return std::tuple{}; }
  static constexpr std::size_t bytes_of_no_row() { return sizeof(undo_log*); }

private:
  static constexpr std::string_view head_key = "a", batch_prefix = "b";
  void clear();
  void put_head(restore_head h);

  undo_log& log_;
  undo_logged_map<staged_ptr> rows_;
};

} // namespace belay::state
