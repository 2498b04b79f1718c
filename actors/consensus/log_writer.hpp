#pragma once
// The actor that writes the Raft log, and the only one that waits for its disk.
// It has its own thread, except in the simulator.

#include "actors/actor_context.hpp"
#include "actors/interfaces.hpp"
#include "actors/telemetry/metrics.hpp"
#include "protocol/diagnosis/slow_syncs.hpp"
#include "storage/log/log_store.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <chrono>
#include <memory>

namespace belay::actors {

/// Makes write_log durable with one sync and responds to raft_peer with log_written. A failed write
/// or sync ends the process (docs/internals/pitfalls.md R22), because the content of the disk is unknown
/// then. A full disk does not: the response reports it, and the batches can be sent again.
class log_writer : public log_writer_actor::base {
public:
  log_writer(caf::actor_config& config, node_actors_ptr node_actors, std::shared_ptr<storage::log_store> store,
             metrics& m);

  behavior_type make_behavior() override;

private:
  monotonic_time now() { return now_of(*this, *node_actors_); }
  void write(const write_log& w);
  void compact(const compact_log& c);
  void log_slow_sync(std::chrono::nanoseconds took);

  node_actors_ptr node_actors_;
  std::shared_ptr<storage::log_store> store_;
  metrics& metrics_;
  diagnosis::slow_syncs slow_syncs_;
  log_index first_kept_;         ///< first index that the last compaction kept
  std::uint64_t last_token_ = 0; ///< of the last batch on the disk; zero: none since the process started
};

} // namespace belay::actors
