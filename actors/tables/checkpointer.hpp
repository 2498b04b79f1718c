#pragma once
// The actor that writes checkpoints of the state machine to LMDB, and reads and stores snapshots
// that servers exchange. It blocks on the disk, so it has its own thread (not in the simulator).

#include "actors/actor_context.hpp"
#include "actors/interfaces.hpp"
#include "actors/tables/snapshot_archives.hpp"
#include "actors/telemetry/metrics.hpp"
#include "actors/telemetry/vitals.hpp"
#include "storage/checkpoint/checkpoint_store.hpp"
#include "storage/checkpoint/generation_schedule.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <memory>

namespace belay::actors {

/// A change that refers to `row`, and encodes it when it is written.
storage::row_change row_change_of(const state::dirty_row& row);

/// Loads all rows of a checkpoint into a new state machine and compares its digest; then loads
/// the key changes stored beside it. Without these, or if they are damaged, it starts with none.
/// @returns a failure if the store cannot be read, or the digest differs from the stored one.
result<std::shared_ptr<state::machine>> load_machine(storage::checkpoint_store& store,
                                                     const storage::checkpoint_info& info);

struct checkpointer_settings {
  log_index newest;                 ///< index of the checkpoint found at the start; zero: none
  storage::generation_limits older; ///< limits of the older generation
  log_index log_begins{1};          ///< first index of the log, as found at the start
  std::uint64_t log_bytes = 0;      ///< likewise
  bool paced = false;               ///< it has a thread, whose writes must not delay the log's
};

/// A transaction begins and ends in one message handler (docs/internals/pitfalls.md L4). A failed commit ends
/// the process, except on a full disk. If a commit reads back different, the previous one stays.
class checkpointer : public checkpointer_actor::base {
public:
  checkpointer(caf::actor_config& config, node_actors_ptr node_actors, std::shared_ptr<storage::checkpoint_store> store,
               checkpointer_settings settings, std::shared_ptr<vitals> numbers, metrics& m);

  behavior_type make_behavior() override;

private:
  monotonic_time now() { return now_of(*this, *node_actors_); }
  void write(const write_checkpoint& w);
  /// @returns why the checkpoint is not in force; empty: it is
  std::string commit(const write_checkpoint& w, checkpoint_written& answer);
  void keep_older(log_index newest);
  log_index log_needed_from() const;
  /// @returns whether they are on the disk. A failed commit ends the process.
  bool keep_changes(const write_checkpoint& w);
  /// Ends the process. @param what was being written
  [[noreturn]] void give_up(const std::string& what, log_index index, const std::string& error);
  void load_chunk(const raft::snapshot_read& what);
  void store_chunk(const raft::snapshot_write& what);

  node_actors_ptr node_actors_;
  std::shared_ptr<storage::checkpoint_store> store_;
  bool paced_;
  log_index newest_;
  storage::generation_schedule generations_;
  bool log_reaches_older_; ///< false: there is no older generation, or the log does not reach back to it
  bool log_is_whole_;      ///< it begins with its first entry
  std::optional<monotonic_time> read_whole_at_;
  std::shared_ptr<vitals> numbers_;
  metrics& metrics_;
  snapshot_archives archives_;
};

} // namespace belay::actors
