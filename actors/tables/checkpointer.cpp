#include "actors/tables/checkpointer.hpp"

#include "actors/telemetry/fatal_exceptions.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/state/restore/stored_digest.hpp"
#include "protocol/state/row_hash.hpp"
#include "protocol/wire/change_codec.hpp"
#include "protocol/wire/command_codec.hpp"
#include "storage/paced_writeback.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

/// Upper bound of the time until damage that no commit touches is detected.
constexpr auto read_whole_interval = std::chrono::hours(24);
constexpr std::uint64_t page_bytes = 4096; // LMDB's page size

/// Builds a state machine from the rows of a checkpoint, and checks that it is the one written.
class machine_loader final : public storage::snapshot_validator {
public:
  status row(std::uint8_t table, std::string_view key, std::string_view value) override {
    auto decoded = wire::decode_row(table, key, value);
    if (!decoded)
      return failure{"checkpoint row cannot be decoded: table " + std::to_string(table) + ", key " + std::string(key)};
    digest_.note(*decoded);
    machine_->load_row(std::move(*decoded));
    return done{};
  }
  status whole(const storage::checkpoint_info& info) override {
    machine_->finish_load(info.meta.index, info.meta.time);
    using comparison = state::stored_digest::comparison;
    switch (MUTANT(snapshot_digest_ignored) ? comparison::same : digest_.compare(info.digest, machine_->digest())) {
    case comparison::same:
      break;
    case comparison::fault_of_0_2_0:
      PROBE("checkpoint: digest of 0.2.0 differs by fencing tokens in kept answers");
      log::warn(
          "checkpointer", "checkpoint accepted, although its digest differs from that of its rows",
          {{"index", info.meta.index.value},
           {"reason", "a server of 0.2.0 wrote it, with the stored outcome of a transaction that shows a locked key"},
           {"advice", "none: all rows have correct checksums, and the next checkpoint will have the correct digest"}});
      break;
    case comparison::different:
      return failure{"checkpoint at index " + to_string(info.meta.index) + " does not have its recorded digest"};
    }
    return done{};
  }
  std::shared_ptr<state::machine> take() { return std::move(machine_); }

private:
  std::shared_ptr<state::machine> machine_ = std::make_shared<state::machine>();
  state::stored_digest digest_;
};

/// Loads key changes that belong to the rows of `machine`.
/// Without them change feeds resync, so a failure does not prevent the start.
void load_changes(storage::checkpoint_store& store, state::machine& machine) {
  std::vector<state::kept_change> list;
  status rows = done{};
  const auto floor = store.load_changes([&](log_index index, std::uint64_t effect, std::string_view value) {
    auto change = wire::decode_change(index, effect, value);
    if (!change)
      rows = failure{"change " + to_string(state::change_position{index, effect}) + " cannot be decoded"};
    else
      list.push_back(std::move(*change));
  });
  auto loaded = !floor ? status(floor.reason()) : rows;
  if (loaded && *floor && !MUTANT(window_forgotten_by_restart))
    loaded = machine.load_changes(**floor, std::move(list));
  if (!loaded)
    log::error("checkpointer", "change history from before this start is unavailable; watchers will resync",
               {{"index", machine.applied_index().value}, {"error", loaded.error()}, {"advice", "check the disk"}});
}

} // namespace

storage::row_change row_change_of(const state::dirty_row& row) {
  storage::row_change change{static_cast<std::uint8_t>(row.table), row.key, nullptr};
  if (!std::holds_alternative<std::monostate>(row.row)) {
    change.append_value = [&row](std::string& out) { wire::append_row(out, row); };
    change.bytes_max = wire::row_bytes_max(row);
  }
  return change;
}

result<std::shared_ptr<state::machine>> load_machine(storage::checkpoint_store& store,
                                                     const storage::checkpoint_info& info) {
  machine_loader loader;
  status rows = done{};
  auto loaded = store.load([&](std::uint8_t table, std::string_view key, std::string_view value) {
    if (rows)
      rows = loader.row(table, key, value);
  });
  for (const auto& s : {loaded, rows, loaded && rows ? loader.whole(info) : status(done{})})
    if (!s)
      return s.reason();
  auto machine = loader.take();
  load_changes(store, *machine);
  return machine;
}

checkpointer::checkpointer(caf::actor_config& config, node_actors_ptr node_actors,
                           std::shared_ptr<storage::checkpoint_store> store, checkpointer_settings settings,
                           std::shared_ptr<vitals> numbers, metrics& m)
    : checkpointer_actor::base(config), node_actors_(std::move(node_actors)), store_(std::move(store)),
      paced_(settings.paced), newest_(settings.newest),
      generations_(settings.older, now().time_since_epoch(), settings.log_bytes),
      log_reaches_older_(store_->older_index() && settings.log_begins <= store_->older_index()->next()),
      log_is_whole_(settings.log_begins.value <= 1), numbers_(std::move(numbers)), metrics_(m), archives_(*store_) {
  end_node_by_exceptions_of(*this, node_actors_, "checkpointer");
}

checkpointer_actor::behavior_type checkpointer::make_behavior() {
  if (paced_)
    storage::pace_this_thread(); // a detached actor initializes itself on its own thread
  return {
      [this](write_checkpoint& w) {
        if (w.all != nullptr)
          w.rows = std::exchange(w.all, nullptr)->rows();
        write(w);
      },
      [this](const load_snapshot_chunk& l) { load_chunk(l.what); },
      [this](const store_snapshot_chunk& s) { store_chunk(s.what); },
      [this](const pack_archive& p) {
        if (gateway_of(p.id) < node_actors_->gateways.size())
          send(node_actors_->gateways[gateway_of(p.id)], archives_.pack(p));
      },
      [this](unpack_archive& u) {
        if (gateway_of(u.id) < node_actors_->gateways.size())
          send(node_actors_->gateways[gateway_of(u.id)], archives_.unpack(u));
      },
      [this](const close_archive& c) { archives_.close(c.archive); },
      [](const free_memory&) {},
      [this](stop_atom) { quit(); },
  };
}

void checkpointer::write(const write_checkpoint& w) {
  checkpoint_written answer;
  answer.meta = w.meta;
  const auto begun = now();
  if (w.meta.index > newest_) { // otherwise a newer snapshot was installed meanwhile
    answer.error = commit(w, answer);
    // Every changed row copies a page, at most all pages of the file.
    const auto pages = w.full ? store_->bytes() : std::min<std::uint64_t>(w.rows.size() * page_bytes, store_->bytes());
    generations_.wrote(w.log_bytes, pages);
    if (answer.error.empty())
      keep_older(w.meta.index);
  }
  answer.log_needed_from = log_needed_from();
  answer.took = now() - begun;
  metrics_.checkpoint(answer.took);
  send(node_actors_->fsm, answer);
  send(node_actors_->raft_peer, std::move(answer));
}

std::string checkpointer::commit(const write_checkpoint& w, checkpoint_written& answer) {
  storage::checkpoint_delta delta{w.meta, w.digest, w.full, {}};
  delta.rows.reserve(w.rows.size());
  for (const auto& row : w.rows)
    delta.rows.push_back(row_change_of(row));
  delta.hash_of = [&](std::size_t i) { return state::row_hash(w.rows[i]); };
  delta.read_whole = !read_whole_at_ || now() - *read_whole_at_ >= read_whole_interval;
  answer.changes_kept = keep_changes(w);
  const auto s = store_->commit(delta);
  if (s) {
    newest_ = w.meta.index;
    if (delta.read_whole || delta.full)
      read_whole_at_ = now();
    numbers_->checkpoint_unproven.store(false, std::memory_order_relaxed);
    return {};
  }
  switch (s.reason().kind) {
  case failure_kind::other:
    give_up("checkpoint", w.meta.index, s.error());
  case failure_kind::no_space:
    break;
  case failure_kind::unproven:
    PROBE("checkpoint: reads back different");
    answer.unproven = true;
    numbers_->checkpoint_unproven.store(true, std::memory_order_relaxed);
    metrics_.checkpoint_unproven();
    if (const auto there = store_->info(); there && *there)
      newest_ = (*there)->meta.index;
    log::error(
        "checkpointer",
        "checkpoint not used: it reads back different from what was written; the previous one stays in use",
        {{"index", w.meta.index.value},
         {"in_force", newest_.value},
         {"error", s.error()},
         {"advice",
          "check disk and memory of this machine, and report this line; the server continues, and keeps its log"}});
    break;
  }
  return s.error();
}

void checkpointer::keep_older(log_index newest) {
  const bool needed = !log_reaches_older_ && !log_is_whole_;
  if (!generations_.due(now().time_since_epoch(), needed, store_->bytes()))
    return;
  if (auto kept = store_->keep_older(); !kept) {
    log::warn("checkpointer", "older generation of the checkpoint not written; retried with the next checkpoint",
              {{"index", newest.value}, {"error", kept.error()}});
    return;
  }
  PROBE("checkpoint: older generation replaced");
  log_reaches_older_ = true;
  generations_.kept(now().time_since_epoch());
}

log_index checkpointer::log_needed_from() const {
  if (log_reaches_older_)
    return store_->older_index()->next();
  return log_is_whole_ ? log_index{1} : newest_.next();
}

bool checkpointer::keep_changes(const write_checkpoint& w) {
  storage::kept_delta delta{w.changes.behind, w.changes.floor, {}};
  delta.rows.reserve(w.changes.list.size());
  for (const auto& c : w.changes.list)
    delta.rows.push_back(
        {c.index, c.effect, [&c](std::string& out) { wire::append_change(out, c); }, wire::change_bytes_max(c)});
  const auto kept = store_->keep_changes({w.meta, w.digest}, delta);
  if (kept)
    return *kept;
  if (kept.reason().kind != failure_kind::no_space)
    give_up("checkpoint", w.meta.index, kept.error());
  log::error("checkpointer", "window of changes not stored; after a restart watchers will resync",
             {{"index", w.meta.index.value},
              {"error", kept.error()},
              {"advice", "free space on the disk of the data directory"}});
  return false;
}

void checkpointer::give_up(const std::string& what, log_index index, const std::string& error) {
  log::error("checkpointer", what + " failed; stopping, because the contents of its file are unknown",
             {{"index", index.value}, {"error", error}, {"advice", "check the disk, then start the node again"}});
  fail_stop(*node_actors_);
}

void checkpointer::load_chunk(const raft::snapshot_read& what) {
  snapshot_chunk_loaded answer;
  answer.to = what.to;
  answer.offset = what.offset;
  if (auto chunk = store_->read_snapshot(what.index, what.offset, what.bytes_max))
    answer.chunk = std::move(*chunk);
  else
    answer.error = chunk.error();
  if (!answer.error.empty())
    PROBE("checkpoint: snapshot chunk not there");
  send(node_actors_->raft_peer, std::move(answer));
}

void checkpointer::store_chunk(const raft::snapshot_write& what) {
  snapshot_chunk_stored answer;
  answer.meta = what.meta;
  answer.last = what.last;
  // An invalid snapshot must not cost this server the data it has.
  std::optional<machine_loader> of_snapshot;
  if (what.last)
    of_snapshot.emplace();
  if (auto stored =
          store_->write_snapshot(what.meta, what.offset, *what.bytes, what.last, of_snapshot ? &*of_snapshot : nullptr))
    answer.next_offset = *stored;
  else {
    answer.error = stored.error();
    answer.no_space = stored.reason().kind == failure_kind::no_space;
    if (!store_->info())
      give_up("snapshot", what.meta.index, answer.error);
  }
  if (answer.error.empty() && what.last) {
    newest_ = what.meta.index;
    log_reaches_older_ = store_->older_index() == newest_;
    log_is_whole_ = false;
    generations_.kept(now().time_since_epoch());
    send(node_actors_->fsm, machine_replaced{what.meta, of_snapshot->take()});
  }
  send(node_actors_->raft_peer, std::move(answer));
}

} // namespace belay::actors
