// The follower's side of appends (dissertation 3.5; conflict hints after etcd/raft).

#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/raft/core_impl.hpp"

#include <algorithm>

namespace belay::raft {

bool core::impl::accept_leader(const message& m) {
  if (m.term < hard.term)
    return false;
  if (m.term == hard.term) {
    if (soft.role == role::leader || (!soft.leader.is_zero() && soft.leader != m.from))
      return false; // two leaders in a term: impossible among honest peers
  }
  if (m.term > hard.term || soft.role != role::follower || soft.leader != m.from)
    follow(m.term, m.from);
  contacted_leader();
  if (config().empty())
    members_received(self, {m.from});
  return true;
}

bool core::impl::sane(const message& m, const append_entries& a) const {
  if (a.prev_index.value > number_max || a.prev_term > m.term || a.prev_index.is_zero() != a.prev_term.is_zero())
    return false;
  auto index = a.prev_index;
  auto term = a.prev_term;
  cluster_time time;
  for (const auto& e : a.entries) {
    if (e.index != index.next() || e.term < term || e.term > m.term || e.term.is_zero() || e.time < time)
      return false;
    if (e.data == nullptr || e.kind > entry_kind::configuration)
      return false;
    if (e.kind == entry_kind::configuration && !decode_configuration(*e.data))
      return false;
    index = e.index;
    term = e.term;
    time = e.time;
  }
  return true;
}

/// Dissertation figure 3.1, AppendEntries. Rejects appends of earlier terms and those that do not
/// follow this log. Skips known entries, truncates at the first conflict, appends the rest and
/// advances the commit index. The reply to entries waits for the disk.
void core::impl::on_append(const message& m, const append_entries& a) {
  if (m.term < hard.term) {
    send_now(m.from, append_reply{false, {}, a.prev_index, {}, {}, 0}); // a deposed leader needs the current term
    return;
  }
  if (!sane(m, a) || !accept_leader(m))
    return;
  if (a.commit.value <= number_max)
    received_commit = std::max(received_commit, a.commit);
  if (a.prev_index > log.last() || (a.prev_index >= log.base() && log.term_at(a.prev_index) != a.prev_term)) {
    reject_append(m, a);
    return;
  }
  auto fresh = a.entries.begin();
  while (fresh != a.entries.end() &&
         (fresh->index <= log.base() ||
          (log.holds(fresh->index) && (MUTANT(conflicting_suffix_kept) || log.term_at(fresh->index) == fresh->term))))
    ++fresh;
  const log_index last{a.prev_index.value + a.entries.size()};
  const bool all_known = fresh == a.entries.end();
  // Committed entries are never replaced, and neither terms nor time decrease. The message itself
  // is sane, but it may begin before this log, whose first known entry it then need not match.
  if (!all_known && (fresh->index <= commit || fresh->time < log.time_at(fresh->index.prev()) ||
                     fresh->term < log.term_at(fresh->index.prev())))
    return;
  // Only a conflict truncates the log. Entries after a delayed append's last one are right, too.
  const auto cut = all_known ? last.next() : fresh->index;
  if (all_known ? MUTANT(truncate_on_old_append) && !a.entries.empty() && last >= commit && last < log.last()
                : log.holds(cut))
    truncate_log(cut);
  bool changed = false;
  for (; fresh != a.entries.end(); ++fresh)
    changed |= log.append(*fresh);
  if (changed)
    config_took_effect();
  verified = std::max(verified, last);
  auto upto = std::min(a.commit, MUTANT(commit_beyond_verified) ? log.last() : verified);
  // A checkpoint that is being installed must stay committed, whatever a peer sends.
  if (installing() && log.term_at(incoming->meta.index) != incoming->meta.term)
    upto = std::min(upto, incoming->meta.index.prev());
  if (upto > commit)
    advance_commit(upto);

  append_reply r;
  r.success = true;
  r.round = a.round;
  // Replies to a heartbeat at once, with what is on disk; to an append when all of it is on disk.
  const bool too_early = MUTANT(append_acked_before_durable);
  const bool at_once = too_early || (hard_is_durable() && (verified <= durable || a.entries.empty()));
  r.match = at_once && !too_early ? std::min(verified, durable) : verified;
  if (at_once)
    send_now(m.from, r);
  else
    send_durable(m.from, r);
}

void core::impl::reject_append(const message& m, const append_entries& a) {
  if (a.prev_index > log.last())
    PROBE("raft: append refused, gap");
  else
    PROBE("raft: append refused, other term");
  if (a.prev_index <= commit)
    return; // contradicts what is committed: no honest leader sends it
  append_reply r;
  r.rejected = a.prev_index;
  // Entries of a newer term than the leader's cannot match: names the last
  // one that is not newer. Everything up to the commit index matches.
  r.conflict_index = std::max(commit, log.last_not_above(std::min(a.prev_index.prev(), log.last()), a.prev_term));
  r.conflict_term = log.term_at(r.conflict_index);
  r.round = a.round;
  // The leader would try the same entry again, forever.
  INVARIANT(r.conflict_index < r.rejected);
  INVARIANT(r.conflict_index >= log.base());
  send_now(m.from, r);
}

void core::impl::truncate_log(log_index from) {
  INVARIANT(from > commit);
  INVARIANT(!leading); // dissertation figure 3.2: a leader only appends
  // Verified entries are only truncated for a peer that contradicts itself within a term.
  verified = std::min(verified, from.prev());
  if (from <= handed_out) {
    truncate_from = std::min(from, truncate_from.value_or(from));
    handed_out = from.prev();
    durable = std::min(durable, from.prev());
    for (auto& batch : unconfirmed)
      batch.last = std::min(batch.last, from.prev());
  }
  PROBE("raft: conflicting suffix cut");
  if (log.truncate_from(from)) {
    PROBE("raft: configuration rolled back");
    config_took_effect();
  }
}

} // namespace belay::raft
