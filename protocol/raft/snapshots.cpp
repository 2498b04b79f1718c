// Sends checkpoints to followers that need entries which the leader
// has compacted (dissertation chapter 5), and compacts the log.

#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/raft/core_impl.hpp"

#include <algorithm>

namespace belay::raft {

namespace {

// Max pause between attempts to send a rejected snapshot: 0.75 s with raft_multiplier 1. A follower
// that has disk space again waits that long, and a healed cluster should be whole within 1 s.
constexpr int snapshot_pause_elections_max = 3;

bool sane_chunk(const message& m, const snapshot_chunk& c) {
  return !c.meta.index.is_zero() && c.meta.index.value <= number_max && !c.meta.term.is_zero() &&
         c.meta.term <= m.term && c.bytes != nullptr && c.offset <= number_max && well_formed(c.meta.config);
}

} // namespace

// ---- leader

void core::impl::drive_snapshot(node_id id, follower_progress& p) {
  auto& s = p.snapshot;
  if (s.reading || s.all_read || s.paused_ticks > 0 || s.requested_where ||
      s.chunk_ends.size() >= lim.snapshot_chunks_inflight || p.silent_ticks > lim.election_ticks)
    return;
  PRECONDITION(p.state == follower_state::snapshot);
  INVARIANT(s.meta || s.read_offset == 0); // another checkpoint would be continued
  s.reading = true;
  s.quiet_ticks = 0;
  // Doubles what the follower has received: if each part costs a slow write, few are needed.
  const auto bytes_max = std::max<std::uint64_t>(lim.snapshot_chunk_bytes,
                                                 std::min<std::uint64_t>(s.wanted, lim.snapshot_chunk_bytes_max));
  out.snapshot_reads.push_back({id, s.meta ? s.meta->index : log_index{}, s.read_offset, bytes_max});
}

void core::impl::tick_snapshot(node_id id, follower_progress& p) {
  auto& s = p.snapshot;
  ++s.quiet_ticks;
  s.paused_ticks -= s.paused_ticks > 0 ? 1 : 0;
  // Waits for a chunk that is being read, however slow the disk: reading it again would be slower.
  s.reading = s.reading && !(MUTANT(slow_chunk_read_again) && s.quiet_ticks > lim.election_ticks);
  if (s.reading || !s.meta || s.quiet_ticks < 2 * lim.heartbeat_ticks || p.silent_ticks > lim.election_ticks)
    return;
  if (s.chunk_ends.empty() && !s.all_read && !s.requested_where)
    return;
  // Something was lost, or the last chunk is being installed. An empty chunk asks where to
  // continue.
  s.quiet_ticks = 0;
  s.requested_where = true;
  send_now(id, snapshot_chunk{*s.meta, s.wanted, make_payload({}), false});
}

void core::impl::snapshot_loaded(node_id to, const snapshot_meta& meta, std::uint64_t offset, payload bytes,
                                 bool last) {
  auto* p = progress_of(to);
  if (p == nullptr || p->state != follower_state::snapshot)
    return;
  auto& s = p->snapshot;
  if (!s.reading || offset != s.read_offset || (s.meta && s.meta->index != meta.index))
    return;
  if (bytes == nullptr || (bytes->empty() && !last)) {
    snapshot_unavailable(to);
    return;
  }
  INVARIANT(!s.all_read);
  INVARIANT(s.chunk_ends.empty() || s.chunk_ends.back() <= offset);
  INVARIANT(s.chunk_ends.size() < lim.snapshot_chunks_inflight);
  s.reading = false;
  s.quiet_ticks = 0;
  s.meta = meta;
  s.read_offset = offset + bytes->size();
  s.all_read = last;
  s.chunk_ends.push_back(s.read_offset);
  send_now(to, snapshot_chunk{meta, offset, std::move(bytes), last});
}

void core::impl::snapshot_unavailable(node_id to) {
  auto* p = progress_of(to);
  if (p == nullptr || p->state != follower_state::snapshot)
    return;
  PROBE("raft: snapshot begun anew");
  p->snapshot = {};
  p->snapshot.paused_ticks = lim.heartbeat_ticks; // then it restarts, with the newest checkpoint at that time
}

/// Each attempt costs a read here and a write there: frequent ones do not help if space is lacking.
void core::impl::snapshot_rejected(follower_progress& p) {
  const auto first = 2 * lim.heartbeat_ticks,
             longest = std::max(first, snapshot_pause_elections_max * lim.election_ticks);
  p.snapshot_pause_ticks = std::clamp(2 * p.snapshot_pause_ticks, first, longest);
  p.snapshot = {};
  p.snapshot.paused_ticks = p.snapshot_pause_ticks;
}

void core::impl::on_snapshot_reply(const message& m, const snapshot_reply& r) {
  auto* known = progress_of(m.from);
  if (known == nullptr || m.term != hard.term)
    return;
  auto& p = *known;
  auto& s = p.snapshot;
  p.silent_ticks = 0;
  if (p.state != follower_state::snapshot || !s.meta || s.meta->index != r.index)
    return;
  if (r.installed) {
    if (r.index > commit)
      return;
    const bool rose = p.confirmed(r.index);
    p.become_probe(p.match.next());
    if (rose)
      commit_by_count();
    return;
  }
  if (r.rejected) {
    snapshot_rejected(p);
    return;
  }
  if (s.reading && r.next_offset > s.read_offset)
    return;
  s.quiet_ticks = 0;
  s.wanted = r.next_offset;
  if (r.next_offset > s.read_offset) { // it has chunks from before the leader restarted
    PROBE("raft: snapshot resumed");
    s.read_offset = r.next_offset;
  }
  while (!s.chunk_ends.empty() && s.chunk_ends.front() <= r.next_offset)
    s.chunk_ends.pop_front();
  if (!s.requested_where)
    return;
  s.requested_where = false;
  if (r.next_offset < s.read_offset) {
    PROBE("raft: snapshot chunk sent again");
    s.read_offset = r.next_offset;
    s.chunk_ends.clear();
    s.all_read = false;
  }
}

// ---- follower

void core::impl::on_snapshot_chunk(const message& m, const snapshot_chunk& c) {
  if (m.term < hard.term) {
    send_now(m.from, snapshot_reply{c.meta.index, 0, false, true}); // a deposed leader needs the current term
    return;
  }
  if (!sane_chunk(m, c) || !accept_leader(m))
    return;
  received_commit = std::max(received_commit, c.meta.index);
  if (c.meta.index <= commit && !MUTANT(snapshot_below_commit_installed)) { // docs/internals/pitfalls.md R14
    PROBE("raft: snapshot at or below the commit index");
    send_durable(m.from, snapshot_reply{c.meta.index, 0, true, false});
    return;
  }
  const bool question = c.bytes->empty() && !c.last;
  const bool known = incoming && incoming->meta.index == c.meta.index && incoming->meta.term == c.meta.term &&
                     (installing() || (incoming->from == m.from && incoming->term == m.term));
  if (!known) {
    // Another leader's checkpoint at the same index may have
    // different bytes: restart, unless one is being installed.
    if (installing() || c.offset != 0 || question) {
      send_durable(m.from, snapshot_reply{c.meta.index, 0, false, false});
      return;
    }
    incoming = incoming_snapshot{c.meta, m.from, m.term, 0, false};
  }
  incoming->from = m.from;
  if (installing() || question || !has_a_term() || c.offset != incoming->next_offset) {
    send_durable(m.from, snapshot_reply{c.meta.index, incoming->next_offset, false, false});
    return;
  }
  incoming->next_offset += c.bytes->size();
  incoming->complete = c.last;
  out.snapshot_writes.push_back({c.meta, c.offset, c.bytes, c.last});
}

void core::impl::snapshot_written(log_index index, std::uint64_t next_offset) {
  if (incoming && incoming->meta.index == index)
    send_durable(incoming->from, snapshot_reply{index, next_offset, false, false});
}

void core::impl::snapshot_failed(log_index index) {
  if (!incoming || incoming->meta.index != index)
    return;
  send_durable(incoming->from, snapshot_reply{index, 0, false, true});
  PROBE("raft: snapshot chunk could not be stored");
  incoming.reset();
}

void core::impl::snapshot_installed(const snapshot_meta& meta) {
  if (incoming && incoming->meta.index == meta.index) {
    send_durable(incoming->from, snapshot_reply{meta.index, incoming->next_offset, true, false});
    incoming.reset();
  }
  if (meta.index <= delivered)
    return;
  delivered = meta.index;
  if (log.holds(meta.index) && (log.term_at(meta.index) == meta.term || MUTANT(suffix_kept_under_snapshot))) {
    PROBE("raft: snapshot installed under a log that goes on");
    // The log continues after the checkpoint: nothing to drop.
    // Entries before it that are not on disk yet need not get there.
    durable = std::max(durable, meta.index);
    if (meta.index > commit)
      advance_commit(meta.index);
    verified = std::max(verified, commit);
    if (leading)
      commit_by_count();
    return;
  }
  // If a suffix of another history stayed, this snapshot would be resent (docs/internals/pitfalls.md R13).
  INVARIANT(meta.index > commit);
  INVARIANT(!leading);
  if (log.holds(meta.index))
    PROBE("raft: snapshot installed over a divergent log");
  log.restart(meta);
  restart_after = meta;
  truncate_from.reset();
  handed_out = durable = commit = verified = meta.index;
  for (auto& batch : unconfirmed)
    batch.last = {};
  config_took_effect();
}

// ---- compaction

/// @returns the last index that may be dropped, at most `upto`. Keeps the entries that responsive
/// followers need to catch up, within limits.catch_up_bytes_max. A follower that gets a snapshot
/// needs the entries after it; without them it would need another snapshot, under load forever.
log_index core::impl::needed_behind(log_index upto) const {
  if (!leading)
    return std::max(upto, log.base());
  auto needed = upto;
  for (const auto& [id, p] : leading->followers) {
    if (!p.catching_up || p.silent_ticks > lim.election_ticks || p.departing_ticks >= 0)
      continue;
    if (p.state == follower_state::snapshot)
      needed = std::min(needed, p.snapshot.meta ? p.snapshot.meta->index : log.base());
    else if (p.match >= log.base())
      needed = std::min(needed, p.match);
  }
  std::size_t bytes = 0;
  while (upto > needed && upto > log.base() && bytes <= lim.catch_up_bytes_max) {
    bytes += log.at(upto).data->size();
    upto = upto.prev();
  }
  return std::max(upto, log.base());
}

log_index core::impl::compact(const snapshot_meta& meta, std::uint64_t keep) {
  auto upto = std::min({meta.index, delivered, durable});
  std::size_t bytes = 0;
  for (; keep > 0 && log.holds(upto) && bytes < lim.trailing_bytes_max; --keep, upto = upto.prev())
    bytes += log.at(upto).data->size();
  if (log.holds(upto)) {
    const auto kept = needed_behind(upto);
    if (kept < upto)
      PROBE("raft: entries kept for a follower that catches up");
    INVARIANT(kept <= meta.index); // the checkpoint has what is dropped
    INVARIANT(kept <= delivered);
    INVARIANT(kept <= durable);
    log.forget_until(kept);
  }
  return log.first();
}

snapshot_meta core::impl::meta_at(log_index i) const {
  const auto* c = log.config_at(i);
  const auto term = log.term_at(i);
  if (c == nullptr || (term.is_zero() && !i.is_zero()))
    return {};
  return {i, term, log.time_at(i), *c};
}

} // namespace belay::raft
