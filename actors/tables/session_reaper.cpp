#include "actors/tables/session_reaper.hpp"

#include "actors/session_lifetime.hpp"
#include "actors/telemetry/fatal_exceptions.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/wire/command_codec.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace belay::actors {

namespace {

constexpr std::chrono::milliseconds reaper_tick{50};
constexpr std::chrono::seconds propose_again_after{1};
// To end a session takes about 5 us, more with locks. Others are proposed with the next tick.
constexpr std::size_t ended_at_once_max = 1000;
// docs/reference/claims.md, rule 20: an exact session ends within 50 ms after its TTL unless there
// is a stall. A delay above this is a stall.
constexpr std::chrono::milliseconds stall_least{20};

// A timer may fire early by the amount that its time was rounded.
constexpr std::chrono::milliseconds clock_grain{1};

} // namespace

session_reaper::session_reaper(caf::actor_config& config, actor_host* host, node_actors_ptr node_actors,
                               const std::vector<state::session_ptr>& sessions, log_index restored_at, metrics& m)
    : hosted(config, host), node_actors_(std::move(node_actors)), metrics_(m), restored_at_(restored_at) {
  end_node_by_exceptions_of(*this, node_actors_, "session_reaper");
  for (const auto& s : std::span(sessions).first(MUTANT(sessions_of_checkpoint_forgotten) ? 0 : sessions.size()))
    sessions_.emplace(s->id, s);
}

session_reaper_actor::behavior_type session_reaper::make_behavior() {
  return {
      [this](const publish_effects& e) { take(e.changed); },
      [this](const cluster_view& v) { lead(v); },
      [this](const renew_request& r) { renew(r); },
      [this](read_result& r) { complete(r); },
      [this](write_results& w) { complete(w); },
      [this](const renew_session& r) { renew_at_once(r); },
      [this](const end_wait& w) { send(node_actors_->raft_peer, w); },
      [this](const lease_extended& l) { lease_until_ = l.until.time_since_epoch(); },
      [this](const give_up_lease& g) {
        lease_until_ = {};
        send(node_actors_->raft_peer, g);
      },
      [this](tick_atom) {
        make_up_for_stalls();
        next_tick_ = {};
        if (now() >= wakes_at_)
          wakes_at_ = {};
        reap();
        metrics_.session_timers(leading_ ? deadlines_.size() : 0);
        if (deadlines_.size() > 0)
          tick_soon();
        wake_for_exact_ones();
      },
      [this](flush_atom) {
        if (wakes_at_.count() == 0 || now() + clock_grain < wakes_at_)
          return; // what it was for has been done
        make_up_for_stalls();
        wakes_at_ = {};
        reap();
        wake_for_exact_ones();
      },
      [this](stop_atom) { quit(); },
  };
}

void session_reaper::start_timer(const state::session_ptr& s) {
  if (s->ttl_ns <= 0)
    return;
  deadlines_.restart(s->id, std::chrono::nanoseconds(s->ttl_ns), now(), precision_of(*s));
  tick_soon();
}

void session_reaper::tick_soon() {
  if (next_tick_.count() != 0)
    return;
  next_tick_ = now() + reaper_tick;
  wake_after(*this, *node_actors_, reaper_tick, tick_atom::value);
}

void session_reaper::take(const state::effects& changed) {
  for (const auto& e : changed) {
    if (const auto* all = std::get_if<state::everything_changed>(&e)) { // the sessions that exist follow as created
      restored_at_ = all->restored_at;
      sessions_.clear();
      deadlines_.clear();
      forget_the_doomed();
      continue;
    }
    const auto* c = std::get_if<state::session_changed>(&e);
    if (c == nullptr)
      continue;
    if (c->created) {
      sessions_[c->session->id] = c->session;
      if (leading_)
        start_timer(c->session);
    } else {
      sessions_.erase(c->session->id);
      deadlines_.remove(c->session->id);
      if (const auto doomed = doomed_.extract(c->session->id)) {
        metrics_.session_invalidated(now() - doomed.mapped().since);
        for (const auto& r : doomed.mapped().waiting)
          answer(r, true);
      }
    }
  }
}

void session_reaper::lead(const cluster_view& v) {
  const bool goes_on = leading_ && v.serving && v.soft.term == term_ && !MUTANT(timers_restarted_by_views);
  leading_ = v.serving;
  term_ = v.soft.term;
  if (goes_on)
    return;
  forget_the_doomed();
  if (MUTANT(timers_of_old_leadership) && deadlines_.size() > 0)
    return;
  deadlines_.clear();
  if (leading_)
    for (const auto& [id, s] : sessions_)
      start_timer(s);
  INVARIANT(deadlines_.size() <= sessions_.size());
}

bool session_reaper::decides(term_id confirmed) {
  return leading_ && (now() < lease_until_ || confirmed == term_ || MUTANT(renewed_without_lease));
}

/// @returns null: there is no such session, or it is about to end
state::session_ptr session_reaper::renew_one(const std::string& id) {
  const auto it = sessions_.find(id);
  if (it == sessions_.end() || (doomed_.contains(id) && !MUTANT(doomed_session_renewed)))
    return nullptr;
  // A session without a TTL has no timer to restart.
  if (it->second->ttl_ns > 0 && !MUTANT(renewal_forgotten)) {
    const bool timed = deadlines_.renew(id, now());
    INVARIANT(timed); // while this node leads, each session with a TTL has a timer
  }
  return it->second;
}

forward::renewed_lifetimes session_reaper::renew_all(std::string_view list) {
  forward::renewed_lifetimes all;
  for (const auto& id : forward::sessions_of(list)) {
    const auto s = renew_one(id);
    all.push_back(MUTANT(renewal_list_renews_first) && !all.empty() ? all.front()
                  : s != nullptr                                    ? std::optional(lifetime_ms(*s))
                                                                    : std::nullopt);
  }
  return all;
}

void session_reaper::renew_at_once(const renew_session& r) {
  const bool waits = doomed_.contains(r.sessions); // until its fate is decided
  if (!decides() || waits)
    return send(node_actors_->raft_peer, r);
  PROBE("reaper: renewed without raft_peer");
  if (forward::is_renewal_list(r.sessions))
    return answer_gateway(*this, *node_actors_, r.id, renew_result{r.id, true, nullptr, {}, renew_all(r.sessions)});
  answer_gateway(*this, *node_actors_, r.id, renew_result{r.id, true, renew_one(r.sessions), {}});
}

void session_reaper::renew(const renew_request& r) {
  if (!decides(r.confirmed))
    return answer(r, false);
  if (forward::is_renewal_list(r.sessions))
    return send(node_actors_->raft_peer, renew_answer{r, true, nullptr, renew_all(r.sessions)});
  if (const auto doomed = doomed_.find(r.sessions); doomed != doomed_.end() && !MUTANT(doomed_session_renewed)) {
    PROBE("reaper: renewal of a session that is about to end");
    doomed->second.waiting.push_back(r);
    return;
  }
  answer(r, true, renew_one(r.sessions));
}

void session_reaper::answer(const renew_request& r, bool known, state::session_ptr s) {
  send(node_actors_->raft_peer, renew_answer{r, known, std::move(s)});
}

void session_reaper::forget_the_doomed() {
  for (const auto& [id, doomed] : std::exchange(doomed_, {}))
    for (const auto& r : doomed.waiting)
      answer(r, false);
}

void session_reaper::complete(read_result& r) {
  const auto* result = r.found();
  const auto* found = result != nullptr ? std::get_if<state::sessions>(&result->data) : nullptr;
  const auto* claim = result != nullptr ? std::get_if<state::claim_standing>(&result->data) : nullptr;
  if (found != nullptr && found->list.size() == 1)
    r.session_ttl_ms = ttl_left_ms(found->list.front()->id);
  else if (claim != nullptr && claim->live)
    r.session_ttl_ms = ttl_left_ms(claim->live->session);
  const auto requested = r.id;
  answer_gateway(*this, *node_actors_, requested, std::move(r));
}

void session_reaper::complete(write_results& w) {
  for (auto& r : w.list) {
    if (const auto* claim = std::get_if<state::claim_answer>(&r.reply))
      r.session_ttl_ms = ttl_left_ms(claim->session);
    write_results one;
    const auto requested = r.id;
    one.list.push_back(std::move(r));
    answer_gateway(*this, *node_actors_, requested, std::move(one));
  }
}

/// Zero: it has no TTL, or this node does not know.
std::uint64_t session_reaper::ttl_left_ms(const std::string& session) {
  const auto left = leading_ ? deadlines_.left(session, now()) : std::nullopt;
  return left ? in_ms_up(*left) : 0;
}

/// Answers renewals whose deadline passed while their session is being destroyed: without a
/// majority that lasts indefinitely. Their outcome is unknown.
void session_reaper::answer_late_renewals() {
  for (auto& [id, doomed] : doomed_) {
    auto& waiting = doomed.waiting;
    const auto late = std::stable_partition(waiting.begin(), waiting.end(), [&](const renew_request& r) {
      return now() < r.deadline.time_since_epoch() || MUTANT(doomed_renewal_waits_for_ever);
    });
    for (auto r = late; r != waiting.end(); ++r)
      answer(*r, false);
    waiting.erase(late, waiting.end());
  }
}

/// A stall of this actor may have delayed renewals, too, which are queued after this
/// message. Sessions get as much time as the stall took.
void session_reaper::make_up_for_stalls() {
  auto expected = next_tick_;
  if (wakes_at_.count() != 0)
    expected = std::min(expected, wakes_at_);
  const auto late = now() - expected;
  if (next_tick_.count() == 0 || late < stall_least || MUTANT(stall_not_made_up_for))
    return;
  PROBE("reaper: a stall is made up for");
  deadlines_.make_up_for(late, now());
}

void session_reaper::wake_for_exact_ones() {
  const auto next = leading_ ? deadlines_.next_exact() : std::nullopt;
  const bool soon_enough = next && wakes_at_.count() != 0 && wakes_at_ <= *next;
  if (!next || *next >= next_tick_ || soon_enough || MUTANT(exact_ttl_by_tick))
    return;
  wakes_at_ = std::max(*next, now() + std::chrono::nanoseconds(1));
  wake_after(*this, *node_actors_, wakes_at_ - now(), flush_atom::value);
}

void session_reaper::reap() {
  INVARIANT(leading_ || deadlines_.size() == 0);
  INVARIANT(leading_ || doomed_.empty());
  INVARIANT(deadlines_.size() <= sessions_.size());
  if (!leading_)
    return;
  answer_late_renewals();
  auto due = deadlines_.due(now(), propose_again_after, ended_at_once_max);
  if (due.empty())
    return;
  PROBE("reaper: session at the end of its time");
  for (const auto& id : due)
    doomed_.try_emplace(id, doomed_session{now(), {}});
  INVARIANT(doomed_.size() <= sessions_.size()); // those whose end is proposed exist
  log::info("session_reaper", "sessions expired (not renewed)", {{"count", due.size()}, {"first", due.front()}});
  send(
      node_actors_->raft_peer,
      propose_internal{term_, make_payload(wire::encode_command(state::session_expire{std::move(due), restored_at_}))});
}

} // namespace belay::actors
