// Implements the requests of actors, from message to response.
#include "client/caf/coordinator_actor.hpp"

#include "client/core/asking.hpp"
#include "client/core/mutants.hpp"

#include <algorithm>
#include <utility>

namespace belay {
inline namespace v0 {
namespace caf {
namespace detail {

namespace {

/// How long a server may block while a key does not change, and how long its response may take.
constexpr milliseconds change_wait{60000};
constexpr milliseconds change_answer{75000};
constexpr milliseconds release_within{5000};

key_value as_message(const std::string& key, const reading& r) {
  key_value out;
  out.key = key;
  out.there = r.found.has_value();
  if (r.found) {
    out.value = r.found->value;
    out.flags = r.found->flags;
    out.session = r.found->session;
    out.index = r.found->index;
  }
  return out;
}

bool same(const key_value& a, const key_value& b) {
  return a.there == b.there && a.index == b.index && a.session == b.session;
}

error not_yours() {
  return error(outcome::refused, reason::session, "this actor does not hold it, or no longer");
}

} // namespace

std::uint64_t coordinator_state::enter(replies to, bound how) {
  auto sender = current_sender();
  bool needs_reply = to == replies::always || current_message_id().is_request();
  bool waits = how == bound::long_wait;
  error why;
  if (closing_)
    why = closed();
  else if (how != bound::no && calls_.size() >= more_.calls_max)
    why = error(outcome::refused, reason::limit, "too many requests of actors are waiting");
  else if (waits && leases_.size() >= more_.leases_max)
    why = error(outcome::refused, reason::limit, "the coordinator has reached its maximum of held locks");
  else if (waits && !sender)
    why = error(outcome::refused, reason::invalid, "the request has no sender");
  if (why.reason() != reason::none) {
    if (needs_reply)
      make_response_promise().deliver(error_to_send(why));
    return 0;
  }
  auto number = next_call_++;
  auto& c = calls_[number] = std::make_unique<call>();
  c->reply = make_response_promise();
  c->needs_reply = needs_reply;
  if (sender)
    c->from = sender->address();
  c->withdrawn_with_actor = waits;
  if (waits)
    attend(c->from);
  return number;
}

void coordinator_state::start(std::uint64_t number, task<void> t) {
  auto& running = calls_.at(number)->running;
  running = std::move(t);
  running.start();
}

void coordinator_state::finish(std::uint64_t number, const status& what) {
  if (what)
    finish(number, ::caf::message());
  else
    finish(number, error_to_send(what.error()));
}

void coordinator_state::forget_call(std::uint64_t number) {
  auto found = calls_.find(number);
  auto c = std::move(found->second);
  calls_.erase(found);
  follows_.erase(number);
  over_.push_back(std::move(c->running));
  if (c->withdrawn_with_actor)
    leave(c->from);
}

deadline coordinator_state::within(milliseconds length) {
  return deadline(env_->now() + belay::detail::at_most_a_year(length));
}

grant coordinator_state::described(std::uint64_t id, const holding& h) {
  grant g;
  g.id = id;
  g.name = h.name;
  g.fence = h.it.fence();
  g.safe_until = h.it.safe_until().time_since_epoch();
  auto left = std::chrono::floor<milliseconds>(h.it.safe_until() - env_->now());
  g.safe_for = std::max(left, milliseconds(0));
  return g;
}

std::map<std::uint64_t, coordinator_state::holding>::iterator coordinator_state::own(std::uint64_t id,
                                                                                     const party& who) {
  auto found = leases_.find(id);
  bool theirs = found != leases_.end() && who && found->second.holder == who;
  return theirs ? found : leases_.end();
}

void coordinator_state::keep(std::uint64_t id, lease h, const party& holder, std::string name) {
  if (!CLIENT_MUTANT(caf_watch_dropped))
    attend(holder);
  holding kept;
  kept.it = std::move(h);
  kept.holder = holder;
  kept.name = std::move(name);
  leases_.insert_or_assign(id, std::move(kept));
}

void coordinator_state::take(std::string name, milliseconds length, taking make) {
  if (auto number = enter(replies::always, bound::long_wait))
    start(number, serve_take(number, std::move(name), std::move(make), within(length)));
  settle();
}

task<void> coordinator_state::serve_take(std::uint64_t number, std::string name, taking make, deadline limit) {
  status opened = co_await session_->open(limit);
  if (!opened) {
    finish(number, opened);
    co_return;
  }
  task<result<lease>> making = make(**session_, limit);
  result<lease> h = co_await making;
  if (!h) {
    finish(number, error_to_send(h.error()));
    co_return;
  }
  auto id = next_hold_++;
  keep(id, std::move(*h), calls_.at(number)->from, std::move(name));
  finish(number, described(id, leases_.at(id)));
}

void coordinator_state::begin_check(const check& m) {
  auto sender = current_sender();
  auto h = own(m.id, sender ? sender->address() : party());
  if (h != leases_.end() && h->second.it.safe())
    make_response_promise().deliver(described(h->first, h->second));
  else
    make_response_promise().deliver(error_to_send(not_yours()));
}

void coordinator_state::begin_release(const release& m) {
  if (auto number = enter(replies::to_requests, bound::no)) {
    auto h = own(m.id, calls_.at(number)->from);
    if (h == leases_.end()) {
      finish(number, error_to_send(not_yours()));
    } else {
      auto gone = std::move(h->second);
      leases_.erase(h);
      leave(gone.holder);
      start(number, serve_release(number, std::move(gone.it), within(m.within)));
    }
  }
  settle();
}

task<void> coordinator_state::serve_release(std::uint64_t number, lease h, deadline limit) {
  status released = co_await h.release(limit);
  finish(number, released);
}

task<void> coordinator_state::release_late(std::uint64_t number, lease h) {
  auto limit = within(release_within);
  co_await h.release(limit);
  finish(number, ::caf::message());
}

void coordinator_state::begin_transfer(const transfer& m) {
  if (auto number = enter(replies::to_requests, bound::no)) {
    auto h = own(m.id, calls_.at(number)->from);
    if (h == leases_.end()) {
      finish(number, error_to_send(not_yours()));
    } else {
      auto gone = std::move(h->second);
      leases_.erase(h);
      auto limit = within(m.within);
      start(number, serve_transfer(number, m.id, std::move(gone.name), std::move(gone.it), limit));
      // Meanwhile the coroutine owns the lease; if it keeps it, the actor is monitored again.
      leave(gone.holder);
    }
  }
  settle();
}

task<void> coordinator_state::serve_transfer(std::uint64_t number, std::uint64_t id, std::string name, lease h,
                                             deadline limit) {
  election contest(**session_, name);
  status passed = co_await contest.transfer(h, limit);
  auto holder = calls_.at(number)->from;
  bool kept = passed.refused() && h.safe();
  if (kept)
    keep(id, std::move(h), holder, name);
  else if (passed.refused())
    notify_lost(holder, id, name, (*session_)->lost_reason());
  finish(number, passed);
}

task<void> coordinator_state::serve_who_leads(std::uint64_t number, who_leads m, deadline limit) {
  if (m.how == recipe::automatic) {
    status opened = co_await session_->open(limit);
    if (!opened) {
      finish(number, opened);
      co_return;
    }
  }
  task<result<std::optional<leader>>> looking = belay::detail::current_leader(**session_, m.name, m.how, limit);
  result<std::optional<leader>> now = co_await looking;
  if (!now) {
    finish(number, error_to_send(now.error()));
    co_return;
  }
  leadership out;
  if (*now) {
    out.taken = true;
    out.value = (*now)->value;
    out.session = (*now)->session;
    out.fence = (*now)->fence;
  }
  finish(number, out);
}

task<void> coordinator_state::serve_get(std::uint64_t number, get m, deadline limit) {
  result<reading> read = co_await read_key(*env_, m.key, limit);
  if (read)
    finish(number, as_message(m.key, *read));
  else
    finish(number, error_to_send(read.error()));
}

task<void> coordinator_state::serve_put(std::uint64_t number, put m, deadline limit) {
  status written = co_await put_key(*env_, m.key, m.value, limit);
  finish(number, written);
}

void coordinator_state::begin_follow(follow m) {
  if (auto number = enter(replies::always, bound::long_wait)) {
    auto& f = follows_[number] = std::make_unique<following>();
    f->key = m.key;
    start(number, serve_follow(number, std::move(m.key), within(m.within)));
  }
  settle();
}

void coordinator_state::end_follow(const unfollow& m) {
  if (auto number = enter(replies::to_requests, bound::no)) {
    std::vector<std::uint64_t> ended;
    for (const auto& [each, f] : follows_)
      if (f->key == m.key && calls_.at(each)->from == calls_.at(number)->from)
        ended.push_back(each);
    for (auto each : ended)
      forget_call(each);
    finish(number, ::caf::message());
  }
  settle();
}

task<void> coordinator_state::serve_follow(std::uint64_t number, std::string key, deadline limit) {
  result<reading> first = co_await read_key(*env_, key, limit);
  if (!first) {
    finish(number, error_to_send(first.error()));
    co_return;
  }
  auto& f = *follows_.at(number);
  auto& c = *calls_.at(number);
  key_value shown = as_message(key, *first);
  c.reply.deliver(shown);
  c.needs_reply = false;
  std::uint64_t seen = first->index;
  backoff pauses(milliseconds(100));
  for (;;) {
    auto patient = within(change_answer);
    result<reading> now = co_await await_key(*env_, key, seen, change_wait, patient);
    if (!now) {
      auto again = env_->now() + pauses.next(*env_);
      co_await sleep_until(*env_, again);
      continue;
    }
    pauses.reset();
    // An index that goes back belongs to another history.
    seen = now->index < seen ? 0 : now->index;
    key_value next = as_message(key, *now);
    if (same(next, shown))
      continue;
    shown = next;
    notify_change(number, next);
    while (!f.handled) {
      auto long_after = env_->now() + std::chrono::hours(24);
      co_await sleep_until(*env_, long_after, &f.when_handled);
    }
  }
}

void coordinator_state::notify_change(std::uint64_t number, key_value now) {
  auto follower = ::caf::actor_cast<::caf::strong_actor_ptr>(calls_.at(number)->from);
  if (!follower)
    return; // it has ended, and the message about that is on its way
  follows_.at(number)->handled = false;
  changed change;
  change.now = std::move(now);
  auto handled = [this, number] {
    if (auto f = follows_.find(number); f != follows_.end()) {
      f->second->handled = true;
      f->second->when_handled.wake_all();
    }
    settle();
  };
  request(::caf::actor_cast<::caf::actor>(follower), ::caf::infinite, std::move(change))
      .then([handled] { handled(); }, [handled](::caf::error&) { handled(); });
}

session_now coordinator_state::session_as_it_is() {
  auto& s = **session_;
  session_now out;
  out.state = s.state();
  out.id = s.id();
  auto left = std::chrono::floor<milliseconds>(s.safe_until() - env_->now());
  out.safe_for = s.safe() ? left : milliseconds(0);
  out.lost_reason = s.lost_reason();
  out.leases = leases_.size();
  out.calls = calls_.size();
  return out;
}

} // namespace detail
} // namespace caf
} // namespace v0
} // namespace belay
