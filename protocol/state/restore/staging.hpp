#pragma once
// Where the rows of an archive wait until all of them are there. They are rows of the state machine like any others, so
// checkpoints, installed snapshots and the digest hold them, but nothing that can be read or written looks at them.

#include "protocol/state/journaled_map.hpp"

namespace belay::state {

/// One restore at a time: a newer one takes the place of what an older one has left. That one is fresh is looked at before the newer one
/// comes into the log (machine::refuse_early): by entries of the log alone the newer one wins, on servers of all versions.
class staging {
public:
  /// A restore that nobody goes on with is forgotten after so much cluster time: its client or its server is gone.
  static constexpr std::uint64_t idle_ms_max = 120'000;

  /// So much cluster time after its last part a restore is not begun over by another. Parts come with every 256 KiB of rows, which
  /// takes seconds even on slow links; and it is well below idle_ms_max, so that a client that went away blocks nobody for long.
  static constexpr std::uint64_t fresh_ms_max = 30'000;

  explicit staging(change_journal& journal) : rows_(journal, table::staging) {}

  void begin(const std::string& id, log_index archive_index, cluster_time now);
  /// Takes the batch unless it is there already. @returns why not; nullopt: it is there.
  std::optional<std::string> add(const std::string& id, std::uint64_t number, row_batch rows, cluster_time now);
  /// Drops everything if it belongs to that restore and has not been put in force.
  void abort(const std::string& id);
  /// Drops what is idle for too long. Called for every entry of the log, so that all nodes hold the same rows.
  void expire(cluster_time now);
  /// Why this restore cannot be put in force; nullopt: it can, or (head()->in_force) it has been.
  std::optional<std::string> unfit(const std::string& id, std::uint64_t batches) const;
  /// Remembers that the restore was put in force, for whoever asks again because its answer was lost.
  void note_in_force(const std::string& id, cluster_time now);

  /// Another restore than this one is going on.
  bool busy_with_another(const std::string& id, cluster_time now) const;

  /// Null: no restore is under way.
  const restore_head* head() const;
  /// Calls `f(row_batch)` in the order of the batches.
  template <class F>
  void for_each_batch(F&& f) const {
    rows_.for_each_under(batch_prefix, [&](const staged_ptr& each) { f(std::get<row_batch>(each->part)); });
  }

  void put(staged_ptr row);
  void erase(std::string_view key) { rows_.erase(key); }
  const journaled_map<staged_ptr>& rows() const { return rows_; }
  auto maps() const { return std::tie(rows_); }
  auto beside() const { return std::tuple{}; }

private:
  static constexpr std::string_view head_key = "a", batch_prefix = "b";
  void clear();
  void put_head(restore_head h);

  journaled_map<staged_ptr> rows_;
};

} // namespace belay::state
