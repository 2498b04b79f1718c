#pragma once
// The replicated state machine: apply() is a function of its arguments and of what was applied before, on every node alike.

#include "protocol/state/queries.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace belay::state {

/// Tables as the checkpoint numbers them; never renumber.
enum class table : std::uint8_t {
  kv = 1,
  tombstones = 2,
  sessions = 3,
  lock_delays = 4,
  nodes = 5,
  services = 6,
  checks = 7,
  counters = 8,
  staging = 9,
  operators = 10
};

struct tombstone {
  std::string key;
  log_index index;      ///< of the newest deletion that left it
  log_index tree_index; ///< of the newest recursive delete of this prefix; zero: none
};
struct lock_delay_record {
  std::string key;
  cluster_time until;
};
/// A named number (table indexes that rows alone do not tell).
struct counter {
  std::string name;
  std::uint64_t value = 0;
};

/// What a restore has gathered: its head, or one batch of rows.
struct staged_record {
  std::string key;
  row_batch rows; ///< null: this is the head
  // the head's
  std::string id;
  log_index archive_index;
  std::uint64_t batches = 0;
  cluster_time touched;  ///< when it last went on
  bool in_force = false; ///< it replaced the tables; the batches are gone
};
using staged_ptr = std::shared_ptr<const staged_record>;

/// A row as it is now, or that it is gone (monostate). Encoded by wire/row_codec.
struct dirty_row {
  state::table table = table::kv;
  std::string key;
  std::variant<std::monostate, kv_entry_ptr, tombstone, session_ptr, lock_delay_record, node_ptr, service_ptr,
               check_ptr, counter, staged_ptr, autopilot_ptr>
      row;
};

class machine {
public:
  machine();
  ~machine();
  machine(machine&&) noexcept;
  machine& operator=(machine&&) noexcept;

  /// Applies one committed command. @pre index > applied_index(); now >= every earlier now.
  /// Appends what changed to `changed`.
  reply apply(log_index index, cluster_time now, const command& c, effects& changed);
  /// An entry without a command (no-op, configuration) was committed.
  void skip(log_index index, cluster_time now);

  query_result evaluate(const query& q) const;
  /// The index evaluate() would answer with, without building the answer (to re-check a parked query cheaply).
  log_index index_of(const query& q) const;

  log_index applied_index() const;
  cluster_time now() const; ///< of the newest entry applied
  /// Of all rows and nothing else, the same on every node at the same applied index. Kept up to date in O(1) per change.
  std::uint64_t digest() const;
  /// The same from scratch; differs only if memory or a checkpoint was damaged.
  std::uint64_t recompute_digest() const;

  /// Refused early, before the log (contract 04 section 3.1): nullopt = may be proposed.
  /// `now` is the leader's estimate of cluster time; apply() decides again.
  std::optional<reply> refuse_early(const command& c, cluster_time now) const;

  session_ptr find_session(std::string_view id) const;
  void for_each_session(const std::function<void(const session_ptr&)>& f) const;
  std::size_t key_count() const;
  /// Of the newest restore of an archive; zero: none. Indexes of before it may be above those of now.
  log_index restored_at() const;
  std::optional<cluster_time> locked_out_until(std::string_view key) const;
  /// Largest index of all tombstones; zero: none (for the reaper's schedule).
  log_index newest_tombstone() const;

  /// Rows changed since the last call (each once, in any order). After load: none.
  std::vector<dirty_row> take_dirty();
  /// Ask before take_dirty(): true if the tables were replaced since its last call. Rows it does not name are gone then.
  bool replaced() const;
  /// Every row there is, for a full checkpoint.
  std::vector<dirty_row> all_rows() const;
  /// Rebuilds from a checkpoint: load_row for each row, then finish_load.
  void load_row(dirty_row row);
  void finish_load(log_index applied, cluster_time now);

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace belay::state
