// raft_peer: the log on disk, checkpoints, and snapshots to followers or from the leader.

#include "actors/consensus/raft_peer.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"

#include <algorithm>
#include <utility>

namespace belay::actors {

namespace {

// Pause before the next attempt after the disk was full.
constexpr std::chrono::milliseconds disk_retry{100};
// Pause before another attempt to record the cluster's identity, which writes a few small files.
constexpr auto note_retry = std::chrono::seconds(1);

} // namespace

void raft_peer::write_next_batches() {
  if (writing_ || (disk_full_ && now() < retry_disk_at_))
    return;
  if (in_flight_.empty())
    in_flight_.swap(unwritten_);
  if (in_flight_.empty())
    return;
  INVARIANT(unwritten_.empty() || in_flight_.back().token + 1 == unwritten_.front().token);
  writing_ = true;
  write_began_ = now();
  send(node_actors_->log_writer, write_log{in_flight_});
}

/// The identity must not name a cluster before the log does:
/// after a power failure the node would be a voter without memory.
void raft_peer::note_cluster() {
  if (note_due_ == 0 || note_after_token_ != 0 || now() < retry_note_at_)
    return;
  const auto& behind = unwritten_.empty() ? in_flight_ : unwritten_;
  if (behind.empty() || MUTANT(identity_before_log))
    save_cluster();
  else
    note_after_token_ = behind.back().token;
}

void raft_peer::save_cluster() {
  PRECONDITION(note_due_ != 0);
  PRECONDITION(note_due_ == formation_.cluster_id()); // the data directory names the cluster that was joined
  if (settings_.joined(note_due_))
    note_due_ = 0;
  else
    retry_note_at_ = now() + note_retry;
}

void raft_peer::on_log_written(const log_written& w) {
  PRECONDITION(writing_);
  PRECONDITION(w.batches == in_flight_.size());
  PRECONDITION(!in_flight_.empty() && w.token == in_flight_.back().token);
  writing_ = false;
  if (!w.disk_full.empty()) {
    PROBE("peer: disk full");
    if (!disk_full_)
      log::error("raft_peer", "disk full: this server acknowledges no writes until space is free",
                 {{"error", w.disk_full},
                  {"advice", "free space on the disk of the data directory; the server retries ten times a second"}});
    disk_full_ = true;
    metrics_.disk_full(true);
    announce_self();
    retry_disk_at_ = now() + disk_retry;
    return;
  }
  if (disk_full_)
    log::info("raft_peer", "disk has space again", {{"index", core_.last_index().value}});
  const bool entries =
      std::any_of(in_flight_.begin(), in_flight_.end(), [](const auto& b) { return !b.entries.empty(); });
  // If entries arrive, the server continues without the snapshot that it had no space for.
  const bool needed_no_snapshot = entries && std::exchange(no_space_for_snapshot_, false);
  if (std::exchange(disk_full_, false) || needed_no_snapshot) {
    metrics_.disk_full(no_space_for_snapshot_);
    announce_self();
  }
  in_flight_.clear();
  core_.persisted(w.token, local_now());
  if (note_after_token_ != 0 && w.token >= note_after_token_) {
    note_after_token_ = 0;
    save_cluster();
  }
  metrics_.commit(core_.commit_index().value);
  schedule_flush();
}

void raft_peer::on_checkpoint_written(const checkpoint_written& c) {
  if (!c.error.empty())
    return;
  checkpointed_ = c.meta.index;
  checkpoint_term_ = c.meta.term;
  // Entries are kept for followers that are a little behind. A single member has none, and a server
  // that joins it begins with a snapshot.
  const bool has_others = core_.config().members.size() > 1;
  // The older generation of the checkpoint needs more of the log than this server keeps in memory.
  const auto in_memory = core_.compact(c.meta, has_others ? settings_.trailing_entries : 0);
  INVARIANT(in_memory <= core_.commit_index().next());
  send(node_actors_->log_writer, compact_log{std::min(in_memory, c.log_needed_from)});
}

void raft_peer::on_chunk_loaded(const snapshot_chunk_loaded& s) {
  if (s.error.empty()) {
    core_.snapshot_loaded(s.to, s.chunk.meta, s.offset, s.chunk.bytes, s.chunk.last);
  } else {
    log::warn("raft_peer", "no snapshot to send yet", {{"to", name_of_server(s.to)}, {"error", s.error}});
    core_.snapshot_unavailable(s.to);
  }
  schedule_flush();
}

void raft_peer::on_chunk_stored(const snapshot_chunk_stored& s) {
  // A server that lacks only this snapshot may be few entries behind, and look healthy.
  if (const bool full = s.no_space && !MUTANT(full_snapshot_told_healthy); full != no_space_for_snapshot_) {
    INVARIANT(!s.no_space || !s.error.empty());
    no_space_for_snapshot_ = full;
    metrics_.disk_full(disk_full_ || full);
    announce_self();
  }
  if (!s.error.empty()) {
    if (std::exchange(snapshot_error_, s.error) != s.error)
      log::warn("raft_peer", "snapshot chunk not stored; the leader sends it again",
                {{"index", s.meta.index.value}, {"error", s.error}});
    core_.snapshot_failed(s.meta.index);
  } else if (!s.last) {
    core_.snapshot_written(s.meta.index, s.next_offset);
  }
  schedule_flush();
}

void raft_peer::on_snapshot_in_force(const snapshot_in_force& s) {
  core_.snapshot_installed(s.meta);
  INVARIANT(core_.commit_index() >= s.meta.index); // the tables have it
  snapshot_error_.clear();
  checkpointed_ = std::max(checkpointed_, s.meta.index);
  level_committed_ = std::max(level_committed_, s.level); // the entries that it replaces are committed
  schedule_flush();
}

} // namespace belay::actors
