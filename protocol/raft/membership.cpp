// First configuration, joint consensus (dissertation 4.3), removal (4.2), transfer (3.10).

#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/raft/core_impl.hpp"

#include <algorithm>

namespace belay::raft {

status core::impl::bootstrap(const configuration& initial) {
  if (!hard.term.is_zero() || !log.last().is_zero() || !config().empty())
    return failure{"this node already has a state"};
  if (!well_formed(initial) || initial.joint())
    return failure{"not a well-formed first configuration"};
  if (!initial.is_voter(self))
    return failure{"this node is not a voter of the first configuration"};
  hard = {term_id{1}, {}};
  hard_changed = true;
  soft.term = hard.term;
  log.append({log_index{1}, hard.term, {}, entry_kind::configuration, make_payload(encode(initial))});
  // This node is not in contact with a leader, so no lease depends on it: wait for only the random
  // part of the timeout.
  refuses_votes = false;
  election_elapsed = lim.election_ticks;
  INVARIANT(log.last() == log_index{1});
  INVARIANT(config() == initial); // it was encoded and decoded
  config_took_effect();
  return done{};
}

std::optional<propose_error> core::impl::propose_configuration(const configuration& target, cluster_time time) {
  if (!leading)
    return propose_error::not_leader;
  if (leading->handing_over())
    return propose_error::transferring;
  if (!may_serve_reads())
    return propose_error::no_noop_yet; // docs/internals/pitfalls.md R6
  if (config().joint() || log.config_index() > commit) {
    PROBE("raft: membership change refused, one is under way");
    return propose_error::change_in_progress;
  }
  if (!well_formed(target) || target.joint() || target == config())
    return propose_error::invalid;
  const auto next = MUTANT(membership_not_joint) ? target : first_step(config(), target);
  // Dissertation 4.3: the old voters take part in a change of the voters.
  INVARIANT(next.voters == config().voters || next.voters_old == config().voters);
  if (!quorum_is_reachable(next, 0) && !MUTANT(unheard_members_accepted)) {
    PROBE("raft: membership change refused, too few of the new members are heard");
    return propose_error::quorum_not_reachable;
  }
  append_own(entry_kind::configuration, make_payload(encode(next)), time);
  return std::nullopt;
}

void core::impl::config_took_effect() {
  out.config_changed = config();
  if (config().joint())
    PROBE("raft: joint configuration");
  if (leading)
    sync_progress();
  else if (soft.role != role::follower && !electable())
    follow(hard.term, {});
}

void core::impl::sync_progress() {
  for (const auto& m : config().members) {
    if (m.id == self)
      continue;
    auto [it, fresh] = leading->followers.try_emplace(m.id);
    if (fresh)
      it->second.next = log.last().next();
    it->second.departing_ticks = -1;
  }
  // A removed server is notified for a while, or it would request votes again and again.
  for (auto& [id, p] : leading->followers)
    if (!config().contains(id) && p.departing_ticks < 0)
      p.departing_ticks = 2 * lim.election_ticks;
  INVARIANT(!leading->followers.contains(self)); // its log would count twice
  INVARIANT(leading->followers.size() + 1 >= config().members.size());
}

void core::impl::after_commit() {
  if (!leading || log.config_index() > commit)
    return;
  if (config().joint()) {
    const auto last = second_step(config());
    if (!last.is_voter(self) && !MUTANT(leaves_before_lease_is_over) && !lease_is_over())
      return; // until a tick, or lease_given_up()
    PROBE("raft: joint configuration committed");
    append_own(entry_kind::configuration, make_payload(encode(last)), {});
    commit_by_count(); // with fewer voters there may be a quorum already
    return;
  }
  auto& l = *leading;
  for (auto& [id, p] : l.followers)
    p.commit_due |= p.departing_ticks >= 0 && p.commit_sent < log.config_index();
  if (config().is_voter(self) || l.retiring)
    return;
  // Dissertation 4.2.2: a leader that is not in the new configuration steps down once
  // that is committed. Before, it transfers leadership to the voter with the longest log.
  PROBE("raft: leader leaves the configuration");
  l.retiring = true;
  for (const auto& [id, p] : l.followers)
    if (config().is_voter(id) && (l.transfer_to.is_zero() || p.match > l.followers.at(l.transfer_to).match))
      l.transfer_to = id;
  l.transfer_ticks = 0;
  for (auto& [id, p] : l.followers)
    p.commit_due = true;
}

/// Whether reads are no longer served under the lease; the first call withdraws it. Others may
/// lead once they have the new configuration, and readers may learn late that the lease ended.
bool core::impl::lease_is_over() {
  auto& until = leading->lease_withdrawn_until;
  if (!until) {
    until = lease_until();
    out.lease_withdrawn = *until > now;
  }
  return *until <= now;
}

void core::impl::lease_given_up() {
  if (!leading || !leading->lease_withdrawn_until)
    return;
  leading->lease_withdrawn_until = local_time{0};
  after_commit();
}

bool core::impl::transfer_leadership(node_id to) {
  const auto* p = progress_of(to);
  if (p == nullptr || leading->retiring || !config().is_voter(to))
    return false;
  if (!leading->transfer_to.is_zero())
    return leading->transfer_to == to;
  if (p->silent_ticks > lim.election_ticks || p->state == follower_state::snapshot)
    return false;
  leading->transfer_to = to;
  leading->transfer_ticks = 0;
  return true;
}

/// A leader without a quorum steps down, but followers may still hear from it: they would wait an
/// election timeout after its last heartbeat. So it requests that one of them campaigns. By its
/// clock the lease that the others protect is over for good: this node does not lead again in this
/// term. Other leaders lose nothing, because a campaign at its request is for the term after its
/// own.
void core::impl::name_successor() {
  if (lease_end() > now && !MUTANT(successor_named_early))
    return;
  // The one with the longest log among those that replied until all became silent.
  const auto merit = [&](const follower_progress& p) {
    return std::pair(p.silent_ticks <= lim.election_ticks + 2 * lim.heartbeat_ticks, p.match);
  };
  node_id best;
  for (const auto& [id, p] : leading->followers)
    if (config().is_voter(id) && (best.is_zero() || merit(p) > merit(leading->followers.at(best))))
      best = id;
  if (!best.is_zero())
    send_now(best, timeout_now{});
}

void core::impl::tick_transfer() {
  auto& l = *leading;
  if (!l.handing_over())
    return;
  const auto* transfer_target = l.find(l.transfer_to);
  if (++l.transfer_ticks > lim.election_ticks || transfer_target == nullptr) {
    PROBE("raft: transfer given up");
    l.transfer_to = {};
    if (l.retiring)
      follow(hard.term, {}, step_down_cause::left_configuration);
    return;
  }
  if (transfer_target->match != log.last() || l.transfer_ticks % lim.heartbeat_ticks != 0)
    return;
  // Readers know that the lease is over: the caller of transfer_leadership() ensures it, or
  // lease_is_over() if the leader leaves. The lease does not return in this term even if the
  // transfer fails: this message may arrive any time later. A quorum confirms reads and renewals.
  INVARIANT(lease_until() == local_time{0});
  PROBE("raft: lease forfeited to a transfer");
  send_now(l.transfer_to, timeout_now{});
  l.lease_forfeited = true;
  if (l.retiring)
    follow(hard.term, {}, step_down_cause::left_configuration);
}

} // namespace belay::raft
