// The leader's side of appends (dissertation 3.5, 3.6.2, 10.2).

#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/raft/core_impl.hpp"
#include "protocol/raft/quorum.hpp"

#include <algorithm>

namespace belay::raft {

log_index core::impl::append_own(entry_kind kind, payload data, cluster_time time) {
  PRECONDITION(leading.has_value());
  PRECONDITION(kind != entry_kind::command || !leading->handing_over()); // the next leader could lack it
  const bool keep = MUTANT(leader_time_goes_back) && kind == entry_kind::command;
  const entry e{log.last().next(), hard.term, keep ? time : std::max(time, log.last_time()), kind, std::move(data)};
  leading->uncommitted_bytes += e.data->size();
  if (log.append(e))
    config_took_effect();
  return e.index;
}

std::variant<log_index, propose_error> core::impl::propose(std::vector<payload> commands, cluster_time time) {
  if (!leading)
    return propose_error::not_leader;
  if (leading->handing_over())
    return propose_error::transferring;
  if (commands.empty())
    return propose_error::invalid;
  std::size_t bytes = 0;
  for (const auto& c : commands) {
    if (c == nullptr)
      return propose_error::invalid;
    bytes += c->size();
  }
  if (leading->uncommitted_bytes > 0 && leading->uncommitted_bytes + bytes > lim.uncommitted_bytes_max) {
    PROBE("raft: too much uncommitted");
    return propose_error::too_much_uncommitted;
  }
  const auto first = log.last().next();
  for (auto& c : commands)
    append_own(entry_kind::command, std::move(c), time);
  INVARIANT(first.value + commands.size() == log.last().next().value); // callers derive the others' indexes
  return first;
}

void core::impl::tick_leader() {
  auto& followers = leading->followers;
  for (auto it = followers.begin(); it != followers.end();) {
    auto& p = it->second;
    ++p.silent_ticks;
    if (p.state == follower_state::snapshot)
      tick_snapshot(it->first, p);
    const bool has_configuration = p.commit_sent >= log.config_index() && p.match >= log.config_index();
    if (p.departing_ticks >= 0 && (p.departing_ticks-- == 0 || has_configuration))
      it = followers.erase(it);
    else
      ++it;
  }
  if (!quorum_is_reachable(MUTANT(successor_named_early) ? -lim.election_ticks / 2 : 0))
    name_successor();
  if (!quorum_is_reachable() && !MUTANT(leader_without_quorum_stays)) {
    PROBE("raft: step down without quorum");
    follow(hard.term, {}, step_down_cause::no_quorum); // the vote of this term stays (docs/internals/pitfalls.md R1)
    return;
  }
  if (persist_age_ticks() >= lim.stall_elections * lim.election_ticks && !MUTANT(stalled_disk_keeps_leading)) {
    PROBE("raft: leader stepped down for a stalled disk");
    follow(hard.term, {}, step_down_cause::stalled_disk);
    return;
  }
  if (leading->lease_withdrawn_until && config().joint())
    after_commit();
  tick_transfer();
  if (!leading) // it stepped down
    return;
  if (alone())
    leading->lease_base = now;
  if (++leading->heartbeat_elapsed < lim.heartbeat_ticks)
    return;
  leading->heartbeat_elapsed = 0;
  leading->heartbeat_due = true;
  for (auto& [id, p] : followers) {
    p.heartbeat_due = true;
    p.probe_sent = false;
  }
}

// New servers that are not among the followers yet count as responsive: the leader has not sent to
// them.
bool core::impl::quorum_is_reachable(const configuration& c, int more_ticks) const {
  return has_quorum(c, [&](node_id id) {
    const auto* p = leading->find(id);
    return id == self || p == nullptr || p->silent_ticks <= lim.election_ticks + more_ticks;
  });
}

void core::impl::drive_followers() {
  for (auto& [id, p] : leading->followers)
    drive(id, p);
}

void core::impl::drive(node_id id, follower_progress& p) {
  INVARIANT(id != self);
  INVARIANT(p.match <= log.last());
  INVARIANT(p.next <= log.last().next());
  INVARIANT(p.round_acked <= leading->round);
  if (p.state != follower_state::snapshot && p.next <= log.base())
    p.become_snapshot();
  switch (p.state) {
  case follower_state::probe:
    if (!p.probe_sent) {
      // To an unresponsive node the append has no entries: copying them would be wasted.
      send_append(id, p, p.silent_ticks <= lim.election_ticks);
      p.probe_sent = true;
    }
    break;
  case follower_state::replicate:
    while (p.next <= log.last() && p.window_open(lim, now))
      send_append(id, p, true);
    break;
  case follower_state::snapshot:
    drive_snapshot(id, p);
    break;
  }
  const bool round_due = p.round_sent < leading->round && config().is_voter(id);
  if (round_due || p.heartbeat_due || p.commit_due)
    send_append(id, p, false);
}

void core::impl::send_append(node_id id, follower_progress& p, bool with_entries) {
  append_entries a;
  // During a snapshot only the empty log is known to match. Otherwise even a heartbeat refers to
  // the last entry sent: if that was lost, the follower rejects it and so reports its position.
  if (p.state != follower_state::snapshot)
    a.prev_index = p.next.prev();
  INVARIANT(a.prev_index.is_zero() || a.prev_index >= log.base()); // its term is known
  a.prev_term = log.term_at(a.prev_index);
  a.commit = commit;
  a.round = leading->round;
  if (with_entries && log.holds(p.next)) {
    // Each append costs the follower a disk write, so one that is behind gets few, large appends.
    const bool behind =
        p.state == follower_state::replicate && log.last().value - a.prev_index.value > lim.inflight_appends_max;
    a.entries = log.slice(p.next, std::max(lim.append_entries_max, behind ? lim.catch_up_append_entries_max : 0),
                          std::max(lim.append_bytes_max, behind ? lim.catch_up_append_bytes_max : 0));
  }
  const log_index last{a.prev_index.value + a.entries.size()};
  INVARIANT(last <= log.last());
  INVARIANT(a.entries.empty() || a.entries.front().index == a.prev_index.next());
  if (p.state == follower_state::replicate && !a.entries.empty()) {
    std::size_t bytes = 0;
    for (const auto& e : a.entries)
      bytes += e.data->size();
    p.sent(last, bytes, now);
  }
  p.commit_sent = std::max(p.commit_sent, std::min(commit, last));
  p.round_sent = leading->round;
  p.heartbeat_due = false;
  p.commit_due = false;
  send_now(id, std::move(a));
}

void core::impl::on_append_reply(const message& m, const append_reply& r) {
  auto* known = progress_of(m.from);
  if (known == nullptr || m.term != hard.term)
    return;
  if (r.round > leading->round || (r.success && r.match > log.last()))
    return; // not a reply to anything that was sent
  auto& p = *known;
  p.silent_ticks = 0;
  if (r.round > p.round_acked) {
    p.round_acked = MUTANT(old_round_counts) ? leading->round : r.round;
    confirm_rounds();
  }
  if (r.success) {
    const bool rose = p.confirmed(r.match);
    p.catching_up = p.catching_up && (p.state == follower_state::snapshot || p.match < commit);
    if (p.state == follower_state::probe)
      p.become_replicate();
    else if (p.state == follower_state::snapshot && p.match >= log.base())
      p.become_probe(p.match.next());
    if (rose)
      commit_by_count();
    return;
  }
  const bool current = p.state == follower_state::probe ? r.rejected == p.next.prev()
                                                        : p.state == follower_state::replicate && r.rejected > p.match;
  if (!current || r.rejected.is_zero()) {
    PROBE("raft: late refusal of an append");
    return;
  }
  // The follower named its last entry with a term not above that of the entry in the request.
  // In this log, too, only an entry with a term not above the named entry's can match.
  const auto hint = std::min({r.conflict_index, r.rejected, log.last()});
  const auto fits = log.last_not_above(hint, r.conflict_term);
  p.become_probe(std::min(fits.next(), r.rejected));
  INVARIANT(p.next <= r.rejected || p.next == p.match.next()); // each refusal takes the search back
}

void core::impl::commit_by_count() {
  PRECONDITION(leading.has_value());
  const log_index reached{quorum_value(config(), [&](node_id id) -> std::uint64_t {
    if (id == self)
      return MUTANT(leader_counts_unwritten) ? log.last().value : durable.value;
    const auto* p = leading->find(id);
    return p == nullptr ? 0 : p->match.value;
  })};
  // Dissertation 3.6.2: only entries of the current term commit by counting (docs/internals/pitfalls.md R9).
  if (reached <= commit)
    return;
  if (log.term_at(reached) != hard.term && !MUTANT(commit_any_term)) {
    PROBE("raft: a quorum has an entry of an earlier term");
    return;
  }
  if (commit.next() < leading->term_start)
    PROBE("raft: entries of earlier terms committed by the own no-op");
  advance_commit(reached);
  after_commit();
}

} // namespace belay::raft
