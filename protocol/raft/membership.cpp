// First configuration, joint consensus (dissertation 4.3), removal, and leadership transfer (3.10).

#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/raft/core_impl.hpp"

#include <algorithm>

namespace belay::raft {

status core::impl::bootstrap(const configuration& initial) {
  if (!hard.term.is_zero() || !log.last().is_zero() || !config().empty())
    return failure{"this node has a state already"};
  if (!well_formed(initial) || initial.joint())
    return failure{"not a well-formed first configuration"};
  if (!initial.is_voter(self))
    return failure{"this node is not a voter of the first configuration"};
  hard = {term_id{1}, {}};
  hard_changed = true;
  soft.term = hard.term;
  log.append({log_index{1}, hard.term, {}, entry_kind::configuration, make_payload(encode(initial))});
  // Nobody can have a lease that rests on us: only the shuffled part of the timeout is waited for.
  guard = false;
  election_elapsed = lim.election_ticks;
  config_took_effect();
  return done{};
}

std::optional<propose_error> core::impl::propose_configuration(const configuration& target, cluster_time time) {
  if (soft.role != role::leader)
    return propose_error::not_leader;
  if (!transfer_to.is_zero() || retiring)
    return propose_error::transferring;
  if (!may_serve_reads())
    return propose_error::no_noop_yet; // R6
  if (config().joint() || log.config_index() > commit) {
    PROBE("raft: membership change refused, one is under way");
    return propose_error::change_in_progress;
  }
  if (!well_formed(target) || target.joint() || target == config())
    return propose_error::invalid;
  const auto next = MUTANT(membership_not_joint) ? target : first_step(config(), target);
  if (!quorum_is_heard(next, 0) && !MUTANT(unheard_members_accepted)) {
    PROBE("raft: membership change refused, too few of the new members are heard");
    return propose_error::quorum_not_heard;
  }
  append_own(entry_kind::configuration, make_payload(encode(next)), time);
  return std::nullopt;
}

void core::impl::config_took_effect() {
  out.config_changed = config();
  if (config().joint())
    PROBE("raft: joint configuration");
  if (soft.role == role::leader)
    sync_progress();
  else if (soft.role != role::follower && !electable())
    follow(hard.term, {});
}

void core::impl::sync_progress() {
  for (const auto& m : config().members) {
    if (m.id == self)
      continue;
    auto [it, fresh] = followers.try_emplace(m.id);
    if (fresh)
      it->second.next = log.last().next();
    it->second.departing_ticks = -1;
  }
  // Who leaves shall hear that it is so, or it would ask for votes until somebody stops it.
  for (auto& [id, p] : followers)
    if (!config().contains(id) && p.departing_ticks < 0)
      p.departing_ticks = 2 * lim.election_ticks;
}

void core::impl::after_commit() {
  if (soft.role != role::leader || log.config_index() > commit)
    return;
  if (config().joint()) {
    PROBE("raft: joint configuration committed");
    append_own(entry_kind::configuration, make_payload(encode(second_step(config()))), {});
    commit_by_count(); // with fewer voters a quorum may be there already
    return;
  }
  for (auto& [id, p] : followers)
    p.commit_due |= p.departing_ticks >= 0 && p.told_commit < log.config_index();
  if (config().is_voter(self) || retiring)
    return;
  // Section 4.2.2: a leader that is not in the new configuration steps down once that is committed; first it names an
  // heir.
  PROBE("raft: leader leaves the configuration");
  retiring = true;
  for (const auto& [id, p] : followers)
    if (config().is_voter(id) && (transfer_to.is_zero() || p.match > followers.at(transfer_to).match))
      transfer_to = id;
  transfer_ticks = 0;
  for (auto& [id, p] : followers)
    p.commit_due = true;
}

bool core::impl::transfer_leadership(node_id to) {
  auto it = followers.find(to);
  if (soft.role != role::leader || retiring || it == followers.end() || !config().is_voter(to))
    return false;
  if (!transfer_to.is_zero())
    return transfer_to == to;
  const auto& p = it->second;
  if (p.silent_ticks > lim.election_ticks || p.state == progress_view::state::snapshot)
    return false;
  transfer_to = to;
  transfer_ticks = 0;
  return true;
}

void core::impl::tick_transfer() {
  if (transfer_to.is_zero() && !retiring)
    return;
  auto it = followers.find(transfer_to);
  if (++transfer_ticks > lim.election_ticks || it == followers.end()) {
    PROBE("raft: transfer given up");
    transfer_to = {};
    if (retiring)
      follow(hard.term, {});
    return;
  }
  if (it->second.match != log.last() || transfer_ticks % lim.heartbeat_ticks != 0)
    return;
  // Not before a later tick than the one in which the transfer began: whoever serves reads under our lease has heard by
  // now that it is over. It does not come back in this term even if the transfer fails, because this message may arrive
  // at any later time.
  PROBE("raft: lease forfeited to a transfer");
  send_now(transfer_to, timeout_now{});
  lease_forfeited = true;
  if (retiring)
    follow(hard.term, {});
}

} // namespace belay::raft
