#include "actors/node/disk/node_disk.hpp"

#include "actors/tables/checkpointer.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/state/feature_levels.hpp"
#include "protocol/wire/command_codec.hpp"
#include "storage/advice.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

std::string advice() {
  return std::string("Check that everything is mounted. If it is, ") + storage::start_empty;
}

constexpr auto check_disk = "check the disk (dmesg, smartctl); this server catches up by itself";

/// Whether it begins with the first entry.
bool is_whole(const result<storage::loaded_log>& log) {
  return log && !log->entries.empty() && log->entries.front().index == log_index{1};
}

std::string no_checkpoint_advice() {
  return "No checkpoint of this server can be loaded. If other servers of the cluster have the data, " +
         std::string(storage::start_empty) +
         ". If it is the only server, restore an archive (belay snapshot save, GET /v1/snapshot) into a new one: "
         "docs/operate/disaster-recovery.md. `belay operator check DATA_DIR` shows what can be read here";
}

/// Log and checkpoint must meet, without a gap. (A log that ends before it, or contradicts it,
/// remains if a node stops while it installs a snapshot: the core drops it, docs/internals/pitfalls.md R13.)
result<raft::restored_state> fit_together(storage::loaded_log found,
                                          const std::optional<storage::checkpoint_info>& checkpoint) {
  raft::restored_state r;
  r.hard = found.hard;
  if (checkpoint)
    r.snapshot = checkpoint->meta;
  const auto first = found.entries.empty() ? found.next : found.entries.front().index;
  if (first > r.snapshot.index.next())
    return failure{"the Raft log begins at index " + to_string(first) + " but the checkpoint ends at " +
                   to_string(r.snapshot.index) + ": entries are missing. " + advice()};
  r.entries = std::move(found.entries);
  return r;
}

/// Whether the checkpoint came from a leader and replaces another history. (The core drops such a
/// log, too.)
bool is_contradicted(const raft::restored_state& r) {
  const auto at = r.snapshot.index;
  if (r.entries.empty() || at < r.entries.front().index || at > r.entries.back().index)
    return false;
  return r.entries[at.value - r.entries.front().index.value].term != r.snapshot.term;
}

/// Whether no server of 0.2.0 can start with a log that has this entry.
bool ends_way_back(const raft::entry& e) {
  const auto needs = e.kind == raft::entry_kind::command && e.data ? wire::needs_of(*e.data) : std::nullopt;
  return needs && needs->level >= state::sector_log_level;
}

/// The newest checkpoint that can be loaded becomes d.machine.
result<std::optional<storage::checkpoint_info>> load_newest(node_disk& d) {
  std::string tried;
  for (std::string what = "the newest checkpoint";;) {
    auto info = d.checkpoints->info();
    if (info && !*info && !d.checkpoints->older_index())
      return info;
    if (info && !*info)
      info = failure{"it is empty"};
    auto machine = info ? load_machine(*d.checkpoints, **info) : result<std::shared_ptr<state::machine>>(info.reason());
    if (machine) {
      d.machine = std::move(*machine);
      if (!tried.empty())
        log::error(
            "node", "newest checkpoint cannot be loaded; starting from an older one and the log after it",
            {{"checkpoint", what}, {"index", (*info)->meta.index.value}, {"reason", tried}, {"advice", check_disk}});
      return info;
    }
    tried += (tried.empty() ? "" : "; ") + what + ": " + machine.error();
    auto older = d.checkpoints->fall_back();
    if (!older)
      return failure{tried + "; the older generation: " + older.error() + ". " + no_checkpoint_advice()};
    if (!*older)
      return failure{tried + ". There is no older generation. " + no_checkpoint_advice()};
    what = **older;
  }
}

} // namespace

result<node_disk> read_disk(std::shared_ptr<storage::log_store> log,
                            std::shared_ptr<storage::checkpoint_store> checkpoints, std::uint64_t trailing_entries) {
  node_disk d{std::move(log), std::move(checkpoints), std::make_shared<state::machine>(), {}};
  auto info = load_newest(d);
  const auto at = info && *info ? (*info)->meta.index.value : 0;
  const log_index needed{at > trailing_entries ? at - trailing_entries + 1 : 0};
  auto loaded = d.log->load(needed);
  if (!info) {
    if (!is_whole(loaded) || !d.checkpoints->start_empty())
      return info.reason();
    log::error("node", "no checkpoint can be loaded; starting from the log alone, which begins with the first entry",
               {{"reason", info.error()}, {"advice", check_disk}});
    info = std::optional<storage::checkpoint_info>();
  }
  if (!loaded)
    return loaded.reason();
  d.log_begins = loaded->begins;
  if (loaded->next.value <= at) // the core begins the log anew
    d.log_begins = log_index{at + 1};
  else if (!loaded->entries.empty() && loaded->entries.front().index > needed) // it did so before
    d.log_begins = std::max(d.log_begins, loaded->entries.front().index);
  d.log_bytes = loaded->bytes;
  auto restored = fit_together(std::move(*loaded), *info);
  if (!restored)
    return restored.reason();
  d.restored = std::move(*restored);
  auto& entries = d.restored.entries;
  if (std::any_of(entries.begin(), entries.end(), ends_way_back))
    d.log->use_sectors();
  if (is_contradicted(d.restored)) { // none of them may be applied, and the older generation needs others
    entries.clear();
    d.log_begins = log_index{at + 1};
  }
  return d;
}

status check_memory(std::uint64_t cluster_id, const raft::restored_state& found) {
  // The term is in the log from the first entry on, and is never removed.
  if (!found.hard.term.is_zero() || (cluster_id == 0 && found.snapshot.index.is_zero()) ||
      MUTANT(identity_without_log_starts))
    return done{};
  return failure{
      std::string("this server belongs to a cluster, but its Raft log is missing: check that everything is mounted. "
                  "Without the log it would forget its votes and the entries that it has confirmed. Mount the missing "
                  "volume, or restore the log (raft/ in the data directory). Only if the log is lost, ") +
      storage::start_empty};
}

} // namespace belay::actors
