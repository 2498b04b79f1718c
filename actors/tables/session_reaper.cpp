#include "actors/tables/session_reaper.hpp"

#include "actors/telemetry/fatal_exceptions.hpp"
#include "actors/telemetry/log.hpp"
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

} // namespace

session_reaper::session_reaper(caf::actor_config& config, actor_host* host, wiring_ptr wires,
                               const std::vector<state::session_ptr>& sessions, metrics& m)
    : hosted(config, host), wires_(std::move(wires)), metrics_(m) {
  end_node_by_exceptions_of(*this, wires_, "session_reaper");
  for (const auto& s : std::span(sessions).first(MUTANT(sessions_of_checkpoint_forgotten) ? 0 : sessions.size()))
    sessions_.emplace(s->id, s);
}

session_reaper_actor::behavior_type session_reaper::make_behavior() {
  return {
      [this](const publish_effects& e) { take(e.changed); },
      [this](const cluster_view& v) { lead(v); },
      [this](const renew_request& r) { renew(r); },
      [this](read_result& r) { complete(r); },
      [this](const lease_extended& l) { lease_until_ = l.until.time_since_epoch(); },
      [this](const give_up_lease& g) {
        lease_until_ = {};
        send(wires_->raft_peer, g);
      },
      [this](tick_atom) {
        reap();
        metrics_.session_timers(leading_ ? deadlines_.size() : 0);
        wake_after(*this, *wires_, reaper_tick, tick_atom::value);
      },
      [this](stop_atom) { quit(); },
  };
}

void session_reaper::start_timer(const state::session_ptr& s) {
  if (s->ttl_ns > 0)
    deadlines_.restart(s->id, std::chrono::nanoseconds(s->ttl_ns), now());
}

void session_reaper::take(const state::effects& changed) {
  for (const auto& e : changed) {
    if (std::holds_alternative<state::everything_changed>(e)) { // the sessions there are follow as created
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
}

void session_reaper::renew(const renew_request& r) {
  if (!leading_ || (now() >= lease_until_ && !MUTANT(renewed_without_lease)))
    return answer(r, false);
  const auto it = sessions_.find(r.session);
  if (it == sessions_.end())
    return answer(r, true);
  if (const auto doomed = doomed_.find(r.session); doomed != doomed_.end() && !MUTANT(doomed_session_renewed)) {
    PROBE("reaper: renewal of a session that is about to end");
    doomed->second.waiting.push_back(r);
    return;
  }
  // A session without a TTL has no timer, and there is nothing to restart.
  if (it->second->ttl_ns > 0 && !MUTANT(renewal_forgotten))
    deadlines_.renew(r.session, now());
  answer(r, true, it->second);
}

void session_reaper::answer(const renew_request& r, bool known, state::session_ptr s) {
  send(wires_->raft_peer, renew_answer{r, known, std::move(s)});
}

void session_reaper::forget_the_doomed() {
  for (const auto& [id, doomed] : std::exchange(doomed_, {}))
    for (const auto& r : doomed.waiting)
      answer(r, false);
}

void session_reaper::complete(read_result& r) {
  const auto* result = std::get_if<state::query_result>(&r.answer);
  const auto* found = result != nullptr ? std::get_if<state::sessions>(&result->data) : nullptr;
  if (leading_ && found != nullptr && found->list.size() == 1)
    if (auto left = deadlines_.left(found->list.front()->id, now()))
      r.session_ttl_ms = static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::milliseconds>(*left).count());
  const auto asked = r.id;
  answer_gateway(*this, *wires_, asked, std::move(r));
}

/// The end of a session may take as long as a majority cannot write. Whoever asks is told at his deadline that nothing is known.
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

void session_reaper::reap() {
  if (!leading_)
    return;
  answer_late_renewals();
  auto due = deadlines_.due(now(), propose_again_after);
  if (due.empty())
    return;
  PROBE("reaper: session at the end of its time");
  for (const auto& id : due)
    doomed_.try_emplace(id, doomed_session{now(), {}});
  log::info("session_reaper", "sessions reached twice their TTL and end",
            {{"count", due.size()}, {"first", due.front()}});
  send(wires_->raft_peer,
       propose_internal{term_, make_payload(wire::encode_command(state::session_destroy{std::move(due), "ttl"}))});
}

} // namespace belay::actors
