#include "actors/consensus/log_writer.hpp"

#include "actors/telemetry/fatal_exceptions.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/mutants.hpp"

#include <cmath>

namespace belay::actors {

log_writer::log_writer(caf::actor_config& config, node_actors_ptr node_actors,
                       std::shared_ptr<storage::log_store> store, metrics& m)
    : log_writer_actor::base(config), node_actors_(std::move(node_actors)), store_(std::move(store)), metrics_(m) {
  end_node_by_exceptions_of(*this, node_actors_, "log_writer");
}

log_writer_actor::behavior_type log_writer::make_behavior() {
  return {
      [this](const write_log& w) { write(w); },
      [this](const compact_log& c) { compact(c); },
      [this](stop_atom) { quit(); },
  };
}

void log_writer::write(const write_log& w) {
  PRECONDITION(!w.batches.empty());
  // None is lost, repeated or overtaken on the way from the core. After a full disk all come again.
  PRECONDITION(w.batches.front().token == last_token_ + 1);
  PRECONDITION(w.batches.back().token == last_token_ + w.batches.size());
  log_written answer;
  answer.token = w.batches.back().token;
  answer.batches = w.batches.size();
  const auto begun = now();
  if (auto s = store_->append(w.batches); !s && !MUTANT(failed_append_ignored)) {
    if (s.reason().kind != failure_kind::no_space) {
      log::error("log_writer", "write to the Raft log failed; stopping, because the contents of the disk are unknown",
                 {{"error", s.error()}, {"advice", "check the disk (dmesg, smartctl), then start the node again"}});
      fail_stop(*node_actors_);
    }
    answer.disk_full = s.error();
  }
  answer.took = now() - begun;
  std::size_t entries = 0;
  for (const auto& b : w.batches)
    entries += b.entries.size();
  metrics_.fsync(answer.took);
  metrics_.batch(entries);
  const auto took = answer.took;
  const bool stored = answer.disk_full.empty();
  if (stored)
    last_token_ = answer.token;
  send(node_actors_->raft_peer, std::move(answer));
  if (stored)
    log_slow_sync(took);
}

/// Removes one segment at a time, so that appends come in between. There are up to 64 after the
/// older generation of the checkpoint was replaced.
void log_writer::compact(const compact_log& c) {
  constexpr std::chrono::milliseconds pause{50};
  if (c.first_kept < first_kept_) // a newer checkpoint came meanwhile
    return;
  first_kept_ = c.first_kept;
  const auto more = store_->compact(c.first_kept, 1);
  if (!more) // old segments only cost space: retry with the next checkpoint
    log::warn("log_writer", "old log segments not removed; retried after the next checkpoint",
              {{"error", more.error()}});
  else if (*more)
    delayed_send(this, node_actors_->clock != nullptr ? node_actors_->clock->in_system_time(pause) : pause, c);
}

void log_writer::log_slow_sync(std::chrono::nanoseconds took) {
  const auto found = slow_syncs_.took(took, now().time_since_epoch());
  if (!found)
    return;
  const auto ms = [](std::chrono::nanoseconds d) { return std::round(static_cast<double>(d.count()) / 1e4) / 100; };
  log::warn(
      "log_writer", "slow log syncs",
      {{"longest_ms", ms(found->longest)},
       {"median_ms", ms(found->median)},
       {"slow_in_last_minute", found->slow},
       {"advice", "writes wait for this disk: check for other users of it (iostat -x 5) and for errors (dmesg)"}});
}

} // namespace belay::actors
