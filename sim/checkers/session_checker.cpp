#include "sim/checkers/session_checker.hpp"

#include "protocol/base/probe.hpp"
#include "protocol/wire/command_codec.hpp"
#include "sim/checkers/session_ends.hpp"
#include "sim/record/semaphore_recipes.hpp"
#include "sim/record/text_rendering.hpp"

#include <algorithm>

namespace belay::sim {

using std::chrono::nanoseconds;
using std::chrono::seconds;

namespace {

// How long after twice its TTL an unrenewed session may end. Clocks that are up to 10 % slow are
// counted separately; the reaper checks every 50 ms and proposes again every second.
constexpr seconds slack{3};
// While a leader makes entries, only the reaper's interval and the mailboxes delay a session's end.
constexpr seconds slack_of_entries{1};
constexpr seconds slack_of_queues{2};
// Precision of the times at which entries were made; more is not needed.
constexpr std::chrono::milliseconds look_every{100};
// Timers may be early by the rounding of their time.
constexpr std::chrono::milliseconds grain_of_clocks{1};
// An unanswered renewal may be in the network, in a paused node, or queued for lack of a leader.
constexpr seconds unanswered_max{20};
// An agent waits for a server as a server does for a leader; its requests may wait for an outage.
constexpr seconds agent_outage{13};
// By then a leader's proposal from before a restore is in the log or abandoned.
constexpr seconds hold_of_proposals{20};

nanoseconds lifetime(const state::session_record& s) {
  return nanoseconds(s.ttl_mode == state::session_ttl_mode::exact ? s.ttl_ns : 2 * s.ttl_ns);
}

} // namespace

/// Checks a committed entry: that the leader has proposed due ends in time, that a session which
/// timers ended had its whole TTL, and that no more sessions hold the semaphore than its limit.
broken session_checker::committed(const raft::entry& e, virtual_time now, std::optional<virtual_time> made) {
  if (e.kind != raft::entry_kind::command)
    return std::nullopt;
  if (made && *made >= next_look_) {
    next_look_ = *made + look_every;
    if (auto b = too_late(e, *made))
      return b;
  }
  const auto command = wire::decode_command(*e.data);
  if (!command)
    return std::nullopt;
  if (const auto* c = std::get_if<state::session_create>(&*command)) {
    lives_[c->session.id].born = now;
    if (c->session.ttl_ns > 0)
      mortal_.insert(c->session.id);
  }
  if (const auto* c = std::get_if<state::session_begin>(&*command)) {
    lives_[c->session.id].born = now;
    if (c->session.ttl_ns > 0)
      mortal_.insert(c->session.id);
  }
  if (const auto* ids = ended_by_timers(*command)) {
    // What older servers are sent also applies to sessions whose TTL a restore started again.
    const bool of_before_restore =
        std::holds_alternative<state::session_destroy>(*command) && restored_ && now - *restored_ < hold_of_proposals;
    for (const auto& id : *ids) {
      if (!model_.sessions().lived_at(id, e.index.prev()) || model_.sessions().lived_at(id, e.index))
        continue;
      PROBE("sessions: ended by TTL");
      if (of_before_restore)
        continue;
      auto& l = lives_[id];
      l.timed_out = now;
      if (auto b = too_soon(id, l, l.sure))
        return b;
    }
  }
  if (std::holds_alternative<state::restore_commit>(*command)) {
    restored_ = now;
    for (const auto& id : model_.sessions().alive()) { // all timers start again
      lives_[id].born = now;
      lives_[id].timed_out.reset();
      if (const auto* s = model_.sessions().find(id); s->ttl_ns > 0)
        mortal_.insert(id);
    }
  }
  const auto holders = model_.entry_at(semaphore_key, e.index);
  if (!holders || model_.doubtful(semaphore_key, e.index))
    return std::nullopt;
  std::size_t alive = 0;
  for (const auto& id : holders_in(*holders->value)) {
    const auto contender = model_.entry_at(std::string(semaphore_prefix) + id, e.index);
    alive += contender && contender->session == id ? 1 : 0;
  }
  if (alive == semaphore_limit)
    PROBE("sessions: semaphore is full");
  if (alive > semaphore_limit)
    return "at entry " + to_string(e.index) + " " + std::to_string(alive) +
           " sessions hold the semaphore: " + std::string(*holders->value);
  return std::nullopt;
}

broken session_checker::too_soon(const std::string& id, const life& l, virtual_time requested) {
  const auto* past = model_.sessions().past(id);
  if (!rules_.trust_clocks || past == nullptr || !l.timed_out)
    return std::nullopt;
  const nanoseconds ttl(past->ttl_ns);
  const bool exact = past->ttl_mode == state::session_ttl_mode::exact;
  const auto least =
      exact ? std::chrono::duration_cast<nanoseconds>(ttl / rules_.fastest_clock) - grain_of_clocks : ttl;
  if (exact)
    PROBE("sessions: an exact one ended by its TTL");
  if (*l.timed_out < requested || *l.timed_out - requested >= least)
    return std::nullopt;
  ++wrongly_released_;
  return "session " + id + " with a TTL of " + in_seconds(ttl) + " was ended for its TTL at " +
         in_seconds(*l.timed_out) + ", although it was renewed or created by a request of " + in_seconds(requested);
}

/// The leader of that term proposed `e`, so it could also have proposed the ends of sessions that
/// were due.
broken session_checker::too_late(const raft::entry& e, virtual_time made) {
  const auto led = led_since_.find(e.term);
  if (!rules_.trust_clocks || led == led_since_.end() || made < resumed_ + slack_of_entries)
    return std::nullopt;
  // While a majority cannot write, the end of a session waits in the queue with everything else.
  if (made - last_made_ > slack_of_entries)
    stood_still_ += made - last_made_;
  last_made_ = std::max(last_made_, made);
  const auto at_work = made - stood_still_;
  for (auto it = mortal_.begin(); it != mortal_.end();) {
    const auto* session = model_.sessions().find(*it);
    if (session == nullptr) {
      it = mortal_.erase(it);
      continue;
    }
    auto& l = lives_[*it];
    auto since = std::max({l.touch, l.born, led->second});
    for (const auto& [op, until] : l.unanswered)
      since = std::max(since, until);
    const auto whole = lifetime(*session);
    const auto due = since + whole + whole / 10 + slack_of_entries + stood_since(since);
    // Requests from before its end may be queued if nothing could be written for a while.
    if (l.due != due || l.overdue == l.overdue.zero()) {
      l.due = due;
      l.overdue = made > due ? at_work : virtual_time::zero();
    } else if (at_work > l.overdue + slack_of_queues) {
      return "entry " + to_string(e.index) + " was made at " + in_seconds(made) + " while session " + *it +
             " with a TTL of " + in_seconds(nanoseconds(session->ttl_ns)) +
             " lived, although no client renewed it since " + in_seconds(since) +
             " and the same leader served all the time";
    }
    ++it;
  }
  return std::nullopt;
}

void session_checker::led(term_id term, virtual_time now) {
  led_ = now;
  led_since_.emplace(term, now);
}

void session_checker::begun(const operation& op) {
  if (!op.renewal)
    return;
  auto& l = lives_[op.renewal->session];
  const auto on_the_way = op.through_agent ? rules_.queue_timeout + agent_outage : virtual_time::zero();
  l.touch = op.invoked + on_the_way + rules_.queue_timeout + seconds(1);
  l.unanswered.emplace(op.id, op.invoked + on_the_way + unanswered_max);
}

broken session_checker::ended(const operation& op) {
  if (op.renewal)
    return check_renewal(op);
  if (op.result != outcome::done || !op.write)
    return std::nullopt;
  const auto* create = std::get_if<state::session_create>(&*op.write);
  const auto* begin = std::get_if<state::session_begin>(&*op.write);
  if (create != nullptr || begin != nullptr) {
    if (!std::holds_alternative<std::string>(op.reply))
      return std::nullopt;
    const auto& id = create != nullptr ? create->session.id : begin->session.id;
    auto& l = lives_[id];
    l.sure = std::max(l.sure, op.invoked);
    return too_soon(id, l, op.invoked);
  }
  const auto* w = std::get_if<state::kv_write>(&*op.write);
  const auto* flag = std::get_if<bool>(&op.reply);
  if (w != nullptr && w->op.verb == state::kv_verb::lock && flag != nullptr && *flag)
    return check_fence(op, w->op, op.reply.note.fence);
  return std::nullopt;
}

broken session_checker::check_renewal(const operation& op) {
  const auto& id = op.renewal->session;
  auto& l = lives_[id];
  if (op.result != outcome::done)
    return std::nullopt;
  l.touch = std::max(l.born, op.returned);
  l.unanswered.erase(op.id);
  if (!rules_.trust_clocks ||
      (rules_.clocks != nullptr && rules_.clocks->lease_in_doubt_between(op.invoked, op.returned)))
    return std::nullopt;
  const auto what = "renewal " + std::to_string(op.id) + " of session " + id;
  const auto from = op.known_at_invocation, to = op.committed_at_return;
  if (op.renewed == nullptr) {
    PROBE("sessions: renewal of one that is gone");
    if (model_.sessions().lived_always(id, from, to) && !is_about_to_end(op, l))
      return what + " was answered that the session does not exist, but it lived all the time";
    return std::nullopt;
  }
  if (!model_.sessions().lived_ever(id, from, to))
    return what + " was answered as done, but at no moment from " + to_string(from) + " to " + to_string(to) +
           " was there such a session";
  l.sure = std::max(l.sure, op.invoked);
  return too_soon(id, l, op.invoked);
}

/// Lists are answered when an end is proposed (docs/reference/http-extensions.md), others at its commit.
bool session_checker::is_about_to_end(const operation& op, const life& l) const {
  const auto* session = model_.sessions().past(op.renewal->session);
  if (op.renewal->beside.empty() || session == nullptr || session->ttl_ns <= 0)
    return false;
  const auto least =
      std::chrono::duration_cast<nanoseconds>(lifetime(*session) / rules_.fastest_clock) - grain_of_clocks;
  return op.returned >= std::max(l.sure, l.born) + least;
}

broken session_checker::check_fence(const operation& op, const state::kv_op& requested, std::uint64_t fence) {
  const auto grant = model_.granted_at(requested.key, op.index);
  if (grant.is_zero() || model_.doubtful(requested.key, op.index))
    return std::nullopt;
  auto& known = fences_[requested.key];
  const auto [it, fresh] = known.emplace(grant, fence);
  const auto complaint = [&](const std::string& text) {
    return "operation " + std::to_string(op.id) + " got key " + requested.key + " by the grant of entry " +
           to_string(grant) + " with fence " + std::to_string(fence) + ", " + text;
  };
  if (it->second != fence)
    return complaint("but the same grant had fence " + std::to_string(it->second));
  if (it != known.begin() && std::prev(it)->second >= fence)
    return complaint("but the grant of entry " + to_string(std::prev(it)->first) + " had " +
                     std::to_string(std::prev(it)->second));
  if (std::next(it) != known.end() && std::next(it)->second <= fence)
    return complaint("but the grant of entry " + to_string(std::next(it)->first) + " has " +
                     std::to_string(std::next(it)->second));
  return std::nullopt;
}

broken session_checker::finish(virtual_time now) const {
  if (!rules_.trust_clocks)
    return std::nullopt;
  for (const auto& [id, l] : lives_) {
    const auto* session = model_.sessions().find(id);
    if (session == nullptr || session->ttl_ns <= 0)
      continue;
    const auto whole = lifetime(*session);
    const auto quiet_since = std::max({l.touch, l.born, led_});
    if (now > quiet_since && now - quiet_since > whole + whole / 5 + slack + stood_since(quiet_since))
      return "session " + id + " with a TTL of " + in_seconds(nanoseconds(session->ttl_ns)) +
             " still lives, although no client renewed it since " + in_seconds(quiet_since);
  }
  return std::nullopt;
}

} // namespace belay::sim
