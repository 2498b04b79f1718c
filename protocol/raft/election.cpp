// Terms, votes, and who leads (dissertation chapters 3.4, 4.2.3, 6.4, 9.6).

#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/raft/core_impl.hpp"
#include "protocol/raft/quorum.hpp"

#include <algorithm>

namespace belay::raft {

void core::impl::follow(term_id term, node_id new_leader) {
  if (soft.role == role::leader)
    lose_leadership();
  if (soft.role != role::follower) {
    election_elapsed = 0;
    election_timeout = shuffled_timeout();
  }
  if (term > hard.term || MUTANT(vote_forgotten_on_step_down)) {
    hard = {term, {}}; // the vote is reset here and nowhere else (R1)
    hard_changed = true;
    verified = commit;
  }
  votes.clear();
  soft = {role::follower, hard.term, new_leader};
}

void core::impl::lose_leadership() {
  const auto first = std::max(commit.next(), term_start);
  if (first <= log.last())
    out.proposals_unknown_from = std::min(first, out.proposals_unknown_from.value_or(first));
  fail_reads();
  followers.clear();
  lease_base.reset();
  transfer_to = {};
  retiring = false;
  uncommitted_bytes = 0;
  guard = false;
  leader_was_heard = true;
  contact_ticks = 0;
}

void core::impl::heard_leader() {
  guard = true;
  leader_was_heard = true;
  contact_ticks = 0;
  contact_time = now;
  if (election_elapsed > 0)
    election_timeout = shuffled_timeout();
  election_elapsed = 0;
}

bool core::impl::guards_leader() const {
  if (MUTANT(vote_while_leader_heard))
    return false;
  if (soft.role == role::leader)
    return true; // a quorum hears us, or we would have stepped down
  // Ticks alone may come a little early after a contact, and the time alone may jump after a pause: both have to have
  // passed.
  return guard && (contact_ticks < lim.election_ticks || now - contact_time < lim.tick * lim.election_ticks);
}

bool core::impl::alone() const {
  return has_quorum(config(), [&](node_id id) { return id == self; });
}

bool core::impl::electable() const {
  if (config().is_voter(self))
    return true;
  // Section 4.2.2: as long as the configuration without us may still be lost, we may be the only one who can bring it
  // to those in it. Once its commit is known a removed server stays quiet, as a learner always does (R4).
  const auto* before = log.config_index() > commit ? log.config_at(log.config_index().prev()) : nullptr;
  return before != nullptr && before->is_voter(self);
}

bool core::impl::may_campaign() const {
  // With a disk that does not answer we could not lead (R5).
  return electable() && !installing() && persist_age_ticks() < lim.election_ticks;
}

void core::impl::tick_follower() {
  ++contact_ticks;
  ++election_elapsed;
  // Nobody else to ask: no waiting, unless a leader that is just leaving was heard in this life (it has no lease, see
  // lease_until).
  if (alone() && soft.role == role::follower && may_campaign() && !(leader_was_heard && guards_leader())) {
    campaign(false);
    return;
  }
  if (election_elapsed < election_timeout)
    return;
  if (may_campaign())
    pre_campaign();
  else
    soft.leader = {};
}

void core::impl::pre_campaign() {
  soft = {role::pre_candidate, hard.term, {}}; // a pre-candidate forgets its leader (R3); term and vote stay
  votes.clear();
  votes.emplace(self, true);
  election_elapsed = 0;
  // Asking costs nothing and disturbs nobody, so it is done again soon: others may have been a few ticks from giving up
  // the leader.
  election_timeout = 2 + static_cast<int>(random.below(static_cast<std::uint64_t>(lim.election_ticks / 4 + 1)));
  ask_for_votes(true, false);
  count_votes();
}

void core::impl::campaign(bool transfer) {
  hard = {hard.term.next(), self};
  hard_changed = true;
  verified = commit;
  soft = {role::candidate, hard.term, {}};
  votes.clear(); // our own vote counts once it is on disk: see persisted()
  election_elapsed = 0;
  election_timeout =
      lim.election_ticks / 2 + 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(lim.election_ticks)));
  ask_for_votes(false, transfer);
}

void core::impl::ask_for_votes(bool pre_vote, bool transfer) {
  const vote_request request{pre_vote, transfer, log.last(), log.last_term()};
  for (const auto& m : config().members) {
    if (m.id == self || !config().is_voter(m.id))
      continue;
    if (pre_vote)
      send_as(hard.term.next(), m.id, request);
    else
      send_durable(m.id, request);
  }
}

void core::impl::count_votes() {
  const auto granted = [&](node_id id) {
    auto it = votes.find(id);
    return it != votes.end() && it->second;
  };
  if (!has_quorum(config(), granted))
    return;
  if (soft.role == role::pre_candidate)
    campaign(false);
  else if (soft.role == role::candidate && granted(self))
    lead();
}

void core::impl::lead() {
  soft = {role::leader, hard.term, self};
  votes.clear();
  followers.clear();
  guard = false;
  round = 0;
  rounds.clear();
  lease_base.reset();
  lease_forfeited = false;
  transfer_to = {};
  retiring = false;
  uncommitted_bytes = 0;
  heartbeat_elapsed = 0;
  heartbeat_due = true;
  sync_progress();
  // Section 6.4: what earlier terms left behind commits with the first entry of our own.
  term_start = append_own(entry_kind::noop, make_payload({}), {});
}

void core::impl::on_vote_request(const message& m, const vote_request& r) {
  const bool up_to_date = MUTANT(vote_without_log_check) || r.last_term > log.last_term() ||
                          (r.last_term == log.last_term() && r.last_index >= log.last()); // section 3.6.1
  const bool guarded = guards_leader() && !r.transfer;
  if (r.pre_vote) {
    // In our own term a pre-vote is worth granting only as long as we could still vote.
    const bool term_free =
        m.term > hard.term || (m.term == hard.term && hard.voted_for.is_zero() && soft.leader.is_zero());
    if (!guarded && up_to_date && term_free) {
      send_as(m.term, m.from, vote_reply{true, true});
      return;
    }
    if (guarded)
      PROBE("raft: pre-vote refused, leader heard");
    else if (!up_to_date)
      PROBE("raft: pre-vote refused, log behind");
    else
      PROBE("raft: pre-vote refused, term not free");
    if (!(MUTANT(prevote_ignored_when_lagging) && m.term <= hard.term))
      send_now(m.from, vote_reply{true, false}); // with our term, so that a lagging node catches up (R3)
    return;
  }
  if (m.term < hard.term || guarded) {
    send_now(m.from, vote_reply{false, false});
    return;
  }
  if (m.term > hard.term)
    follow(m.term, {});
  const bool free = hard.voted_for == m.from || (hard.voted_for.is_zero() && soft.leader.is_zero());
  if (!free || !up_to_date || soft.role != role::follower) {
    if (!free)
      PROBE("raft: vote refused, given already");
    else if (!up_to_date)
      PROBE("raft: vote refused, log behind");
    send_now(m.from, vote_reply{false, false});
    return;
  }
  if (hard.voted_for.is_zero()) {
    hard.voted_for = m.from;
    hard_changed = true;
  }
  election_elapsed = 0;
  if (MUTANT(vote_not_durable))
    send_now(m.from, vote_reply{false, true});
  else
    send_durable(m.from, vote_reply{false, true});
}

void core::impl::on_vote_reply(const message& m, const vote_reply& r) {
  // Kind and term must be those of the campaign that is on; each voter counts once (R2).
  const bool pre_vote = r.pre_vote && !(MUTANT(vote_reply_kind_ignored) && soft.role == role::candidate);
  const bool fits = pre_vote ? soft.role == role::pre_candidate && m.term == (r.granted ? hard.term.next() : hard.term)
                             : soft.role == role::candidate && m.term == hard.term;
  if (!fits || !config().is_voter(m.from)) {
    PROBE("raft: vote of another campaign");
    return;
  }
  auto voter = m.from;
  if (MUTANT(votes_counted_not_collected) && votes.contains(voter))
    for (auto other : config().voters)
      voter = votes.contains(other) ? voter : other;
  votes[voter] = r.granted;
  count_votes();
}

void core::impl::on_timeout_now(const message& m) {
  if (m.term == hard.term && soft.role == role::follower && soft.leader == m.from && may_campaign()) {
    PROBE("raft: campaign at the leader's request");
    campaign(true);
  }
}

} // namespace belay::raft
