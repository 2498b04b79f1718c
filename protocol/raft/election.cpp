// Terms, votes and leadership (dissertation 3.4, 4.2.3, 6.4, 9.6).

#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/raft/core_impl.hpp"
#include "protocol/raft/quorum.hpp"

#include <algorithm>

namespace belay::raft {

void core::impl::follow(term_id term, node_id new_leader, step_down_cause why) {
  PRECONDITION(term >= hard.term);
  PRECONDITION(new_leader != self);
  PRECONDITION(!leading || term > hard.term || new_leader.is_zero()); // dissertation figure 3.2: one leader in a term
  if (leading) {
    why_stepped_down = why;
    lose_leadership();
  }
  if (soft.role != role::follower) {
    election_elapsed = 0;
    election_timeout = shuffled_timeout();
  }
  if (term > hard.term || MUTANT(vote_forgotten_on_step_down)) {
    hard = {term, {}}; // the vote is reset only here (docs/internals/pitfalls.md R1)
    hard_changed = true;
    verified = commit;
  }
  votes.clear();
  received_commit = {};
  soft = {role::follower, hard.term, new_leader};
}

void core::impl::lose_leadership() {
  PRECONDITION(leading.has_value());
  const auto first = std::max(commit.next(), leading->term_start);
  if (first <= log.last())
    out.proposals_unknown_from = std::min(first, out.proposals_unknown_from.value_or(first));
  fail_reads();
  leading.reset();
  refuses_votes = false;
  leader_was_reachable = true; // this node was that leader
  contact_ticks = 0;
}

void core::impl::contacted_leader() {
  refuses_votes = true;
  leader_was_reachable = true;
  contact_ticks = 0;
  contact_time = now;
  if (election_elapsed > 0)
    election_timeout = shuffled_timeout();
  election_elapsed = 0;
}

bool core::impl::guards_leader() const {
  // After a contact the next tick may come early, and after a pause time jumps. So an election
  // timeout has passed only if both ticks and time say so.
  const bool leader_contact =
      refuses_votes && (contact_ticks < lim.election_ticks || now - contact_time < lim.tick * lim.election_ticks);
  // A leader protects itself: it is in contact with a quorum, or it would have stepped down.
  return (leading || leader_contact) && !MUTANT(vote_while_leader_heard);
}

bool core::impl::alone() const {
  return has_quorum(config(), [&](node_id id) { return id == self; });
}

bool core::impl::electable() const {
  if (config().is_voter(self) || (MUTANT(replica_campaigns) && config().contains(self)))
    return true;
  // Dissertation 4.2.2: while the configuration without this node may still be lost, this
  // node may be the only one that can send it to its members. When it is known to be
  // committed, a removed server stays quiet, as a learner always does (docs/internals/pitfalls.md R4).
  const auto* before = log.config_index() > commit ? log.config_at(log.config_index().prev()) : nullptr;
  return before != nullptr && before->is_voter(self);
}

bool core::impl::may_campaign() const {
  // A server with a stalled disk could not lead (docs/internals/pitfalls.md R5).
  return electable() && !installing() && persist_age_ticks() < lim.election_ticks;
}

void core::impl::tick_follower() {
  ++contact_ticks;
  ++election_elapsed;
  // If it is alone it does not wait, unless it has heard a leader since this process started. That
  // leader is about to remove itself and would be disturbed. After a restart it does not wait even
  // then, because a leader that removes itself has given up its lease (see lease_until).
  if (alone() && soft.role == role::follower && may_campaign() && !(leader_was_reachable && guards_leader())) {
    campaign(false);
    return;
  }
  // Ticks may come early: the node would vote for itself while it protects the leader's lease.
  if (election_elapsed < election_timeout || guards_leader())
    return;
  if (may_campaign())
    pre_campaign();
  else
    soft.leader = {};
}

/// Cuts the random part of the timeout to 0..3 ticks: the leader is probably
/// gone. No server votes before election_ticks have passed since the leader's
/// last message, because the leader may serve reads under its lease until then.
void core::impl::hurry() {
  if (soft.role == role::follower)
    election_timeout = std::min(election_timeout, lim.election_ticks + static_cast<int>(random.below(4)));
}

void core::impl::pre_campaign() {
  PRECONDITION(!leading);
  if (soft.role == role::candidate)
    why_election = election_cause::no_winner;
  else if (soft.role == role::follower) // a pre-candidate retries for the same reason
    why_election = soft.leader.is_zero() ? election_cause::no_leader : election_cause::leader_silent;
  soft = {role::pre_candidate, hard.term, {}}; // a pre-candidate forgets its leader (docs/internals/pitfalls.md R3)
  votes.clear();
  votes.emplace(self, true); // a pre-vote promises nothing: it need not be on disk
  election_elapsed = 0;
  // A pre-vote is cheap and disturbs no server, so it is retried
  // soon: others may have been a few ticks from their timeout.
  election_timeout = 2 + static_cast<int>(random.below(election_spread() / 4 + 1));
  ask_for_votes(true, false);
  count_votes();
}

void core::impl::campaign(bool transfer) {
  PRECONDITION(!leading);
  PRECONDITION(!installing()); // it may lack entries that are committed
  PRECONDITION(electable());
  if (transfer)
    why_election = election_cause::requested_by_leader;
  else if (soft.role != role::pre_candidate)
    why_election = election_cause::only_voter;
  hard = {hard.term.next(), self};
  hard_changed = true;
  verified = commit;
  soft = {role::candidate, hard.term, {}};
  votes.clear(); // this node's own vote counts once it is on disk: see persisted()
  election_elapsed = 0;
  election_timeout = lim.election_ticks / 2 + 1 + static_cast<int>(random.below(election_spread()));
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
  PRECONDITION(hard.voted_for == self);
  PRECONDITION(
      hard_is_durable()); // else it could vote for another server after a restart (docs/internals/pitfalls.md R21)
  PRECONDITION(!installing());
  PRECONDITION(log.last_term() < hard.term); // no entry of this term exists before its leader does
  received_commit = {};
  soft = {role::leader, hard.term, self};
  votes.clear();
  leading.emplace();
  sync_progress();
  // Dissertation 6.4: uncommitted entries of earlier terms commit with the first entry of this one.
  leading->term_start = append_own(entry_kind::noop, make_payload({}), {});
  INVARIANT(leading->term_start > commit); // reads wait for it
}

/// Dissertation figure 3.1, RequestVote, with pre-votes (9.6). A server that has heard its leader
/// recently rejects both, unless the leader transfers its leadership. A pre-vote changes nothing
/// here; the reply to a granted vote waits for the disk.
void core::impl::on_vote_request(const message& m, const vote_request& r) {
  const bool up_to_date = MUTANT(vote_without_log_check) || r.last_term > log.last_term() ||
                          (r.last_term == log.last_term() && r.last_index >= log.last()); // dissertation 3.6.1
  const bool guarded = guards_leader() && !r.transfer;
  if (!up_to_date)
    hurry(); // it cannot win, because it lacks entries of this node: this node should campaign
  if (r.pre_vote) {
    // In this node's own term a pre-vote is granted only while the vote is free.
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
      send_now(m.from, vote_reply{true, false}); // a lagging node learns this term (docs/internals/pitfalls.md R3)
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
  INVARIANT(hard.term == m.term); // the vote is for the term that the candidate campaigns for
  if (hard.voted_for.is_zero()) {
    hard.voted_for = m.from;
    hard_changed = true;
  }
  election_elapsed = 0;
  // A sent vote must survive a crash: the reply waits for the disk (docs/internals/pitfalls.md R21).
  auto& outbox = MUTANT(vote_not_durable) ? out.send_now : held;
  outbox.push_back({self, m.from, hard.term, vote_reply{false, true}});
}

/// Used by the mutant votes_counted_not_collected: the last silent voter, if `answered` voted
/// before.
node_id core::impl::silent_voter_or(node_id answered) const {
  const auto& voters = config().voters;
  const auto silent = std::find_if(voters.rbegin(), voters.rend(), [&](node_id id) { return !votes.contains(id); });
  return votes.contains(answered) && silent != voters.rend() ? *silent : answered;
}

void core::impl::on_vote_reply(const message& m, const vote_reply& r) {
  // Kind and term must be those of this campaign; a voter counts once (docs/internals/pitfalls.md R2).
  const bool pre_vote = r.pre_vote && !(MUTANT(vote_reply_kind_ignored) && soft.role == role::candidate);
  const bool fits = pre_vote ? soft.role == role::pre_candidate && m.term == (r.granted ? hard.term.next() : hard.term)
                             : soft.role == role::candidate && m.term == hard.term;
  if (!fits || !config().is_voter(m.from)) {
    PROBE("raft: vote of another campaign");
    return;
  }
  votes[MUTANT(votes_counted_not_collected) ? silent_voter_or(m.from) : m.from] = r.granted;
  count_votes();
}

void core::impl::on_timeout_now(const message& m) {
  const bool of_now = m.term == hard.term && (soft.leader == m.from || MUTANT(transfer_at_anybodys_word));
  const bool of_then = m.term < hard.term && MUTANT(old_timeout_now_obeyed);
  if ((of_now || of_then) && soft.role == role::follower && may_campaign()) {
    PROBE("raft: campaign at the leader's request");
    campaign(true);
  }
}

} // namespace belay::raft
