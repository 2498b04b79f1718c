#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/raft/core_impl.hpp"

#include <algorithm>

namespace belay::raft {

namespace {

bool is_reply(const message_body& b) {
  return std::holds_alternative<append_reply>(b) || std::holds_alternative<vote_reply>(b) ||
         std::holds_alternative<snapshot_reply>(b);
}

bool is_pre_vote_grant(const message_body& b) {
  const auto* v = std::get_if<vote_reply>(&b);
  return v != nullptr && v->pre_vote && v->granted;
}

} // namespace

bool ready::empty() const {
  return !persist && send_now.empty() && committed.empty() && reads_confirmed.empty() && reads_failed.empty() &&
         !soft && !proposals_unknown_from && snapshot_reads.empty() && snapshot_writes.empty() && !config_changed &&
         !lease_withdrawn;
}

// ---- inputs

core::impl::impl(node_id id, limits l, restored_state restored, std::uint64_t seed)
    : self(id), lim(l), random(seed), hard(restored.hard) {
  PRECONDITION(!id.is_zero());
  PRECONDITION(lim.election_ticks > 0);
  PRECONDITION(lim.heartbeat_ticks > 0);
  PRECONDITION(lim.inflight_appends_max > 0); // else nothing is ever sent
  const bool fits = log.restore(restored.snapshot, std::move(restored.entries));
  if (!fits) {
    PROBE("raft: checkpoint over a log that does not fit, at the start");
    restart_after = restored.snapshot;
  }
  durable_hard = hard;
  if (hard.term < log.last_term()) {
    hard = {log.last_term(), {}};
    hard_changed = true;
  }
  handed_out = durable = log.last();
  commit = delivered = restored.snapshot.index;
  verified = commit;
  soft.term = hard.term;
  // Before the restart this node may have acknowledged a leader, whose lease relies on that. Even
  // if nothing of that leader's log is here: a server with a term has acknowledged some server.
  refuses_votes = (!config().empty() || !hard.term.is_zero()) && !MUTANT(guard_lost_by_restart);
  election_timeout = shuffled_timeout();
}

void core::impl::saw_time(local_time t) {
  if (!time_known) {
    time_known = true;
    now = t;
    contact_time = t;
  }
  now = std::max(now, t);
}

void core::impl::tick(local_time t) {
  saw_time(t);
  ++ticks;
  if (leading)
    tick_leader();
  else
    tick_follower();
}

void core::impl::step(const message& m, local_time t) {
  saw_time(t);
  if (m.to != self || m.from == self || m.from.is_zero() || m.term.value > number_max)
    return;
  if (m.term.value > hard.term.value + term_leap_max && !MUTANT(far_term_believed)) {
    PROBE("raft: term far above the own one refused");
    return;
  }
  if (is_reply(m.body)) {
    if (!config().contains(m.from) && progress_of(m.from) == nullptr)
      return;
    // A granted pre-vote carries the term of the future campaign, which no server has yet.
    if (m.term > hard.term && !is_pre_vote_grant(m.body)) {
      follow(m.term, {});
      return;
    }
  } else if (!counts(m.from) && !MUTANT(stranger_heeded)) {
    PROBE("raft: request of a server that is no member");
    return;
  }
  if (const auto* append = std::get_if<append_entries>(&m.body))
    on_append(m, *append);
  else if (const auto* reply = std::get_if<append_reply>(&m.body))
    on_append_reply(m, *reply);
  else if (const auto* request = std::get_if<vote_request>(&m.body))
    on_vote_request(m, *request);
  else if (const auto* vote = std::get_if<vote_reply>(&m.body))
    on_vote_reply(m, *vote);
  else if (const auto* chunk = std::get_if<snapshot_chunk>(&m.body))
    on_snapshot_chunk(m, *chunk);
  else if (const auto* stored = std::get_if<snapshot_reply>(&m.body))
    on_snapshot_reply(m, *stored);
  else
    on_timeout_now(m);
}

bool core::impl::counts(node_id from) const {
  return config().empty() || log.names_from(commit, from) || acquainted.contains(from);
}

void core::impl::members_received(node_id by, const std::vector<node_id>& servers) {
  constexpr std::size_t acquainted_max = 1000; // far above the number of members in the life of a process
  if (by != self && !counts(by))
    return;
  for (auto id : servers)
    if (acquainted.size() < acquainted_max && !id.is_zero() && id != self)
      acquainted.insert(id);
}

void core::impl::persisted(std::uint64_t token, local_time t) {
  PRECONDITION(token < next_token); // the disk confirms only what it was given
  saw_time(t);
  while (!unconfirmed.empty() && unconfirmed.front().token <= token) {
    auto& batch = unconfirmed.front();
    durable = std::max(durable, batch.last);
    if (batch.hard)
      durable_hard = *batch.hard;
    std::move(batch.then_send.begin(), batch.then_send.end(), std::back_inserter(out.send_now));
    unconfirmed.pop_front();
  }
  if (soft.role == role::candidate && hard_is_durable() && votes.emplace(self, true).second)
    count_votes();
  if (leading)
    commit_by_count();
}

int core::impl::persist_age_ticks() const {
  return unconfirmed.empty() ? 0 : ticks - unconfirmed.front().tick;
}

// ---- outputs

void core::impl::send_as(term_id term, node_id to, message_body body) {
  out.send_now.push_back({self, to, term, std::move(body)});
}

void core::impl::send_now(node_id to, message_body body) {
  send_as(hard.term, to, std::move(body));
}

void core::impl::send_durable(node_id to, message_body body) {
  // The newest acknowledgement includes all that an earlier one of the same batch would confirm.
  if (std::holds_alternative<append_reply>(body) && !held.empty() && held.back().to == to &&
      held.back().term == hard.term && std::holds_alternative<append_reply>(held.back().body)) {
    held.back().body = std::move(body);
    return;
  }
  held.push_back({self, to, hard.term, std::move(body)});
}

void core::impl::take_persist() {
  if (!hard_changed && !truncate_from && !restart_after && handed_out == log.last()) {
    if (held.empty())
      return;
    auto& target = unconfirmed.empty() ? out.send_now : unconfirmed.back().then_send;
    std::move(held.begin(), held.end(), std::back_inserter(target));
    held.clear();
    return;
  }
  // What segment_log::follow() relies on: the batch continues what the disk was given before.
  INVARIANT(!truncate_from || !restart_after);
  INVARIANT(!truncate_from || handed_out.next() == *truncate_from);
  INVARIANT(!restart_after || handed_out == restart_after->index);
  INVARIANT(!out.persist); // it would be lost
  persist_batch b;
  b.token = next_token++;
  std::optional<hard_state> changed;
  if (std::exchange(hard_changed, false))
    changed = hard;
  b.hard = MUTANT(hard_state_lost) ? std::nullopt : changed;
  b.truncate_from = std::exchange(truncate_from, std::nullopt);
  b.restart_after = std::exchange(restart_after, std::nullopt);
  b.entries = log.copy(handed_out.next(), log.last());
  handed_out = log.last();
  unconfirmed.push_back({b.token, changed, b.entries.empty() ? log_index{} : handed_out, ticks, std::move(held)});
  held.clear();
  out.persist = std::move(b);
}

void core::impl::take_committed() {
  // While a checkpoint is installed, the state machine must not pass it (docs/internals/pitfalls.md R14).
  if (installing() || delivered >= commit || !has_a_term())
    return;
  INVARIANT(out.committed.empty()); // they would never be applied
  out.committed = log.copy(delivered.next(), commit);
  delivered = commit;
}

ready core::impl::take_ready() {
  if (leading) {
    start_rounds();
    drive_followers();
    confirm_rounds();
  }
  take_persist();
  take_committed();
  if (soft != reported_soft)
    out.soft = reported_soft = soft;
  for (const auto& m : out.send_now)
    INVARIANT(is_backed_by_disk(m)); // dissertation 3.8, docs/internals/pitfalls.md R21
  return std::exchange(out, {});
}

/// Besides entries that were counted or compared, those of an installed checkpoint are committed:
/// `delivered` includes them already.
void core::impl::advance_commit(log_index to) {
  INVARIANT(to >= commit);
  INVARIANT(to <= log.last());
  // Dissertation 3.6.2: a leader commits entries of its own term (docs/internals/pitfalls.md R9).
  INVARIANT(!leading || to <= delivered || log.term_at(to) == hard.term);
  // Dissertation figure 3.1: a follower commits only what it has compared with its leader's log.
  INVARIANT(leading || to <= delivered || to <= verified);
  if (leading) {
    const auto before = leading->uncommitted_bytes;
    for (auto i = std::max(commit.next(), leading->term_start); i <= to; i = i.next())
      leading->uncommitted_bytes -= log.at(i).data->size();
    INVARIANT(leading->uncommitted_bytes <= before);
    INVARIANT(to != log.last() || leading->uncommitted_bytes == 0);
  }
  commit = to;
}

// ---- what always holds

bool core::impl::is_backed_by_disk(const message& m) const {
  const auto* vote = std::get_if<vote_reply>(&m.body);
  const auto* request = std::get_if<vote_request>(&m.body);
  if (vote != nullptr ? vote->granted && !vote->pre_vote : request != nullptr && !request->pre_vote)
    return durable_hard.term > m.term || durable_hard == hard_state{m.term, vote != nullptr ? m.to : self};
  const auto* reply = std::get_if<append_reply>(&m.body);
  const auto* stored = std::get_if<snapshot_reply>(&m.body);
  const bool acknowledges = reply != nullptr ? reply->success : stored != nullptr && stored->installed;
  return !acknowledges || durable_hard.term >= m.term;
}

void core::impl::check_positions() const {
  INVARIANT(log.base() <= delivered); // what is not applied is not dropped
  INVARIANT(delivered <= commit);
  INVARIANT(commit <= log.last());
  INVARIANT(verified <= log.last());
  INVARIANT(handed_out <= log.last());
  INVARIANT(durable <= log.last());
  INVARIANT(durable <= handed_out || durable <= delivered); // beyond that only a checkpoint makes durable
  INVARIANT(log.last_term() <= hard.term);
  INVARIANT(durable_hard.term <= hard.term);
  INVARIANT(hard_changed || !unconfirmed.empty() || hard_is_durable()); // no vote or term is forgotten
  INVARIANT(unconfirmed.empty() || unconfirmed.back().token + 1 == next_token);
  // The state machine must not pass a checkpoint that is being installed (docs/internals/pitfalls.md R14).
  INVARIANT(!installing() || delivered < incoming->meta.index);
}

void core::impl::check_role() const {
  INVARIANT(soft.term == hard.term);
  INVARIANT(leading.has_value() == (soft.role == role::leader));
  INVARIANT(leading.has_value() == (soft.leader == self));
  if (leading) {
    INVARIANT(hard.voted_for == self);
    INVARIANT(!installing());
    INVARIANT(log.last_term() == hard.term); // at least its no-op
    INVARIANT(leading->rounds.empty() || leading->rounds.back().number == leading->round);
    return;
  }
  INVARIANT(soft.role != role::candidate || hard.voted_for == self);
  INVARIANT(soft.role == role::follower || soft.leader.is_zero()); // docs/internals/pitfalls.md R3
  INVARIANT(soft.role == role::follower || !installing());
}

void core::impl::check_consistency() {
  check_positions();
  check_role();
  const auto& before = checked;
  INVARIANT(hard.term >= before.hard.term);
  // docs/internals/pitfalls.md R1: a vote is kept for its term.
  INVARIANT(hard.term > before.hard.term || before.hard.voted_for.is_zero() || hard.voted_for == before.hard.voted_for);
  INVARIANT(commit >= before.commit);
  INVARIANT(delivered >= before.delivered);
  // Dissertation figure 3.2: a leader only appends.
  INVARIANT(!leading || hard.term > before.hard.term || log.last() >= before.last);
  checked = {hard, commit, delivered, leading ? log.last() : log_index{}};
}

// ---- the public class

core::core(node_id self, limits l, restored_state restored, std::uint64_t seed)
    : impl_(std::make_unique<impl>(self, l, std::move(restored), seed)) {}
core::~core() = default;
core::core(core&&) noexcept = default;
core& core::operator=(core&&) noexcept = default;

status core::bootstrap(const configuration& initial) {
  auto s = impl_->bootstrap(initial);
  impl_->check_consistency();
  return s;
}
void core::tick(local_time now) {
  impl_->tick(now);
  impl_->check_consistency();
}
void core::step(const message& m, local_time now) {
  impl_->step(m, now);
  impl_->check_consistency();
}
bool core::counts(node_id from) const {
  return impl_->counts(from);
}
void core::members_received(node_id by, const std::vector<node_id>& servers) {
  impl_->members_received(by, servers);
}
void core::persisted(std::uint64_t token, local_time now) {
  impl_->persisted(token, now);
  impl_->check_consistency();
}
std::variant<log_index, propose_error> core::propose(std::vector<payload> commands, cluster_time now) {
  auto r = impl_->propose(std::move(commands), now);
  impl_->check_consistency();
  return r;
}
std::optional<propose_error> core::propose_configuration(const configuration& target, cluster_time now) {
  auto refused = impl_->propose_configuration(target, now);
  impl_->check_consistency();
  return refused;
}
bool core::read(std::uint64_t id) {
  return impl_->read(id);
}
bool core::transfer_leadership(node_id to) {
  return impl_->transfer_leadership(to);
}
void core::lease_given_up() {
  impl_->lease_given_up();
  impl_->check_consistency();
}

void core::peer_unreachable(node_id peer) {
  auto& c = *impl_;
  if (auto* p = c.progress_of(peer)) {
    if (p->state != follower_state::snapshot) {
      p->become_probe(p->match.next());
      p->probe_sent = true; // the link is down: the next heartbeat is early enough
    }
  } else if (c.soft.role == role::follower && c.soft.leader == peer) {
    c.hurry();
  }
}

void core::peer_reachable(node_id peer) {
  if (auto* p = impl_->progress_of(peer)) {
    p->probe_sent = false;
    p->heartbeat_due = true;
  }
}

void core::snapshot_loaded(node_id to, const snapshot_meta& meta, std::uint64_t offset, payload bytes, bool last) {
  impl_->snapshot_loaded(to, meta, offset, std::move(bytes), last);
}
void core::snapshot_unavailable(node_id to) {
  impl_->snapshot_unavailable(to);
}
void core::snapshot_written(log_index index, std::uint64_t next_offset) {
  impl_->snapshot_written(index, next_offset);
}
void core::snapshot_failed(log_index index) {
  impl_->snapshot_failed(index);
}
void core::snapshot_installed(const snapshot_meta& meta) {
  impl_->snapshot_installed(meta);
  impl_->check_consistency();
}
log_index core::compact(const snapshot_meta& meta, std::uint64_t keep) {
  const auto first = impl_->compact(meta, keep);
  impl_->check_consistency();
  return first;
}

void core::time_is(local_time now) {
  impl_->saw_time(now);
}

bool core::coalesces() const {
  const auto& c = *impl_;
  return c.leading && std::any_of(c.leading->followers.begin(), c.leading->followers.end(), [&](const auto& f) {
           return f.second.next <= c.log.last() && f.second.coalesces(c.lim, c.now);
         });
}

void core::broadcast_commit() {
  if (!impl_->leading)
    return;
  for (auto& [id, p] : impl_->leading->followers)
    p.commit_due = p.commit_sent < impl_->commit;
}

ready core::take_ready() {
  auto r = impl_->take_ready();
  impl_->check_consistency();
  return r;
}

node_id core::self() const {
  return impl_->self;
}
const soft_state& core::soft() const {
  return impl_->soft;
}
bool core::is_leader() const {
  return impl_->leading.has_value();
}
term_id core::term() const {
  return impl_->hard.term;
}
node_id core::voted_for() const {
  return impl_->hard.voted_for;
}
log_index core::commit_index() const {
  return impl_->commit;
}
log_index core::leader_commit() const {
  return std::max(impl_->received_commit, impl_->commit);
}
election_cause core::why_election() const {
  return impl_->why_election;
}
step_down_cause core::why_stepped_down() const {
  return impl_->why_stepped_down;
}
log_index core::last_index() const {
  return impl_->log.last();
}
cluster_time core::last_time() const {
  return impl_->log.last_time();
}
log_index core::first_index() const {
  return impl_->log.first();
}
term_id core::term_at(log_index i) const {
  return impl_->log.term_at(i);
}
local_time core::lease_until() const {
  return impl_->lease_until();
}
bool core::may_serve_reads() const {
  return impl_->may_serve_reads();
}
const configuration& core::config() const {
  return impl_->config();
}
snapshot_meta core::meta_at_commit() const {
  return impl_->meta_at(impl_->commit);
}
snapshot_meta core::meta_at(log_index i) const {
  return impl_->meta_at(i);
}

std::vector<progress_view> core::progress() const {
  std::vector<progress_view> all;
  if (!impl_->leading)
    return all;
  for (const auto& [id, p] : impl_->leading->followers)
    if (p.departing_ticks < 0)
      all.push_back({id, p.state, p.match, p.next, p.inflight(), p.silent_ticks});
  return all;
}

int core::ticks_since_leader() const {
  if (is_leader())
    return 0;
  return impl_->leader_was_reachable ? impl_->contact_ticks : -1;
}

std::string core::describe() const {
  return impl_->describe();
}

} // namespace belay::raft
