#pragma once
// The part of the Raft log that a node holds in memory: all entries after the newest checkpoint
// and some before it, term and time of the entry before the first, and the configurations in them.

#include "protocol/raft/types.hpp"

#include <deque>
#include <vector>

namespace belay::raft {

class log_window {
public:
  /// Fills the window with the entries on disk.
  /// @returns false if the entries do not continue the snapshot: they end before it, or the
  /// entry at its index has another term, or there are none (the process may have ended before
  /// the log learned of its first snapshot). Then the window is empty after the snapshot.
  /// @pre entries are contiguous and leave no gap after the snapshot
  bool restore(const snapshot_meta& snapshot, std::vector<entry> entries);

  /// Index just before the first entry kept; its term and time are known.
  log_index base() const { return base_; }
  log_index first() const { return base_.next(); }
  log_index last() const { return log_index{base_.value + entries_.size()}; }
  term_id last_term() const { return entries_.empty() ? base_term_ : entries_.back().term; }
  cluster_time last_time() const { return entries_.empty() ? base_time_ : entries_.back().time; }

  /// Zero if unknown (dropped, or not there yet).
  term_id term_at(log_index i) const;
  cluster_time time_at(log_index i) const;
  bool holds(log_index i) const { return i > base_ && i <= last(); }
  /// @pre holds(i)
  const entry& at(log_index i) const;

  /// @pre e.index follows the last one, its term and time are not less; a configuration entry can
  /// be decoded
  /// @returns true if the configuration in force changed.
  bool append(entry e);
  /// Drops `i` and all after it. @pre holds(i); it is after the checkpoint and all dropped entries
  /// @returns true if the configuration in force changed (docs/internals/pitfalls.md R7).
  bool truncate_from(log_index i);
  /// Drops everything; the next entry is the one after the snapshot.
  void restart(const snapshot_meta& snapshot);
  /// Drops entries up to and including `i`. @pre i <= last()
  void forget_until(log_index i);

  /// Entries from `from` on, up to `count_max` and `bytes_max`, at least one. @pre holds(from)
  std::vector<entry> slice(log_index from, std::size_t count_max, std::size_t bytes_max) const;
  /// @pre all of them are held
  std::vector<entry> copy(log_index from, log_index to) const;

  /// Largest index <= `i` with a term <= `t`; `i` itself or the base if unknown.
  /// @pre i <= last()
  log_index last_not_above(log_index i, term_id t) const;

  /// The configuration in force: the latest in the log, committed or not.
  const configuration& config() const { return configs_.back().config; }
  log_index config_index() const { return configs_.back().index; }
  /// The configuration at `i`; null if it is older than what is known.
  const configuration* config_at(log_index i) const;
  /// Whether the configuration at `i`, or a later one, contains that server.
  bool names_from(log_index i, node_id id) const;

private:
  struct config_point {
    log_index index;
    configuration config;
  };

  bool push(entry e);
  void check_consistency() const;

  log_index base_;
  term_id base_term_;
  cluster_time base_time_;
  std::deque<entry> entries_;
  std::deque<config_point> configs_{config_point{}}; ///< never empty; the first is the oldest one known
};

} // namespace belay::raft
