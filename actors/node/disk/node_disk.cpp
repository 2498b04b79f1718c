#include "actors/node/disk/node_disk.hpp"

#include "actors/tables/checkpointer.hpp"
#include "protocol/base/mutants.hpp"
#include "storage/advice.hpp"

namespace belay::actors {

namespace {

std::string advice() {
  return std::string("Is everything mounted? If it is, ") + storage::start_empty;
}

/// Log and checkpoint must meet: entries without a gap behind the checkpoint. (A log that ends before it, or disagrees with it,
/// is what an installed snapshot leaves behind if the node stops right then: the core drops such a log, docs/pitfalls.md R13.)
result<raft::restored_state> fit_together(storage::loaded_log found,
                                          const std::optional<storage::checkpoint_info>& checkpoint) {
  raft::restored_state r;
  r.hard = found.hard;
  if (checkpoint)
    r.snapshot = checkpoint->meta;
  if (!found.entries.empty() && found.entries.front().index > r.snapshot.index.next())
    return failure{"the Raft log begins at index " + to_string(found.entries.front().index) +
                   " but the checkpoint ends at " + to_string(r.snapshot.index) + ": entries are missing. " + advice()};
  r.entries = std::move(found.entries);
  return r;
}

} // namespace

result<node_disk> read_disk(std::shared_ptr<storage::log_store> log,
                            std::shared_ptr<storage::checkpoint_store> checkpoints) {
  node_disk d{std::move(log), std::move(checkpoints), std::make_shared<state::machine>(), {}};
  auto loaded = d.log->load();
  if (!loaded)
    return loaded.why();
  auto info = d.checkpoints->info();
  if (!info)
    return info.why();
  if (*info) {
    auto machine = load_machine(*d.checkpoints, **info);
    if (!machine)
      return failure{machine.error() + ". " + advice()};
    d.machine = std::move(*machine);
  }
  auto restored = fit_together(std::move(*loaded), *info);
  if (!restored)
    return restored.why();
  d.restored = std::move(*restored);
  return d;
}

status check_memory(std::uint64_t cluster_id, const raft::restored_state& found) {
  // The term is in the log from the first entry on, and never leaves it.
  if (!found.hard.term.is_zero() || (cluster_id == 0 && found.snapshot.index.is_zero()) ||
      MUTANT(identity_without_log_starts))
    return done{};
  return failure{
      std::string(
          "this server belongs to a cluster but its Raft log is gone: is everything mounted? Started "
          "like this it would forget its votes and what it has confirmed. Mount what is missing, or bring the log "
          "back (raft/ in the data directory). Only if it is lost, ") +
      storage::start_empty};
}

} // namespace belay::actors
