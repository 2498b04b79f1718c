#pragma once
// The actor that writes checkpoints of the state machine to LMDB, and that reads and stores the snapshots which servers
// send each other. It waits for the disk, so it has a thread of its own (in the simulator it is an ordinary actor).

#include "actors/interfaces.hpp"
#include "actors/surroundings.hpp"
#include "actors/tables/snapshot_archives.hpp"
#include "actors/telemetry/metrics.hpp"
#include "storage/checkpoint_store.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <memory>

namespace belay::actors {

/// Refers to `row`, and makes bytes of it when it is written.
storage::row_change row_change_of(const state::dirty_row& row);

/// Loads all rows of a checkpoint into a fresh state machine and compares its digest; then the changes that are kept beside it. Without those,
/// also if they are damaged, it begins with none.
/// @returns a failure if the store cannot be read or the digest differs from the one that was written with it.
result<std::shared_ptr<state::machine>> load_machine(storage::checkpoint_store& store,
                                                     const storage::checkpoint_info& info);

/// Every transaction begins and ends inside one message handler (docs/pitfalls.md L4). Any failed commit but a full disk ends the process.
class checkpointer : public checkpointer_actor::base {
public:
  /// `newest`: index of the checkpoint found at the start, zero: none.
  checkpointer(caf::actor_config& config, wiring_ptr wires, std::shared_ptr<storage::checkpoint_store> store,
               log_index newest, metrics& m);

  behavior_type make_behavior() override;

private:
  monotonic_time now() { return now_of(*this, *wires_); }
  void write(const write_checkpoint& w);
  /// @returns whether they are on the disk. A failed commit ends the process.
  bool keep_changes(const write_checkpoint& w);
  [[noreturn]] void give_up(const write_checkpoint& w, const std::string& error);
  void load_chunk(const raft::snapshot_read& what);
  void store_chunk(const raft::snapshot_write& what);

  wiring_ptr wires_;
  std::shared_ptr<storage::checkpoint_store> store_;
  log_index newest_;
  metrics& metrics_;
  snapshot_archives archives_;
};

} // namespace belay::actors
