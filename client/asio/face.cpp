#include "client/asio/face.hpp"

namespace belay {
inline namespace v0 {
namespace detail {

namespace {

std::int64_t ticks(instant t) {
  return t.time_since_epoch().count();
}

/// Runs a call from start to end, on the loop.
task<void> carry_out(face& f, job make, bool with_session, deadline limit, error& why) {
  if (with_session) {
    status opened = co_await f.held_by->open(limit);
    if (!opened) {
      why = opened.error();
      co_return;
    }
  }
  task<void> made = make(**f.held_by, limit);
  co_await made;
}

task<void> carry_out_and_report(face& f, call& c, job make, bool with_session, deadline limit) {
  std::exception_ptr thrown;
  try {
    task<void> all = carry_out(f, make, with_session, limit, c.why);
    co_await all;
  } catch (...) {
    thrown = std::current_exception();
  }
  c.end(thrown);
}

/// Acquires with `make`, and gives the lease to the face at once.
task<result<lease_ptr>> keep(face& f, making<lease> make, session& s, deadline limit) {
  task<result<lease>> making = make(s, limit);
  result<lease> h = co_await making;
  if (!h)
    co_return h.error();
  auto kept = std::make_shared<lease_parts>(f.weak_from_this(), std::move(*h));
  f.leases.insert(kept);
  f.notify_watchers(*kept);
  co_return kept;
}

task<status> transfer(face& f, lease_ptr h, std::string name, recipe how, session& s, deadline limit) {
  belay::election contest(s, name, how);
  h->safe_until = 0;
  status passed = co_await contest.transfer(h->it, limit);
  if (passed || passed.unknown())
    f.forget(h);
  else
    f.notify_watchers(*h);
  co_return passed;
}

task<status> release(face& f, lease_ptr h, deadline limit) {
  h->safe_until = 0;
  status released = co_await h->it.release(limit);
  f.forget(h);
  co_return released;
}

} // namespace

error closed_error() {
  return error(outcome::refused, reason::closed, "the client is closed, or this is the child of a fork");
}

void face::live_in(environment& env) {
  held_by = std::make_unique<shared_session>(env, options.session);
  (*held_by)->on_change([this] { notify_watchers(); });
}

void face::begin(const call_ptr& c, job make, bool with_session, instant until) {
  deadline limit(until, &c->stop);
  calls.insert(c);
  c->running = carry_out_and_report(*this, *c, std::move(make), with_session, limit);
  c->running.start();
}

void face::notify_watchers() {
  auto all = leases;
  for (const auto& h : all)
    notify_watchers(*h);
}

void face::notify_watchers(lease_parts& h) {
  h.safe_until = ticks(h.it.safe_until());
  bool gone = (*held_by)->state() == session_state::lost || (*held_by)->state() == session_state::closed;
  if (gone)
    lose(h, (*held_by)->lost_reason().empty() ? "the client was closed" : (*held_by)->lost_reason());
}

void face::lose(lease_parts& h, const std::string& why) {
  h.safe_until = 0;
  if (h.lost.stop_requested())
    return;
  {
    std::lock_guard guard(h.lock);
    h.lost_reason = why;
  }
  // Callers' functions must not run in the middle of a recipe.
  call_back([source = h.lost, to_notify = std::exchange(h.watchers, {})]() mutable {
    source.request_stop();
    for (auto& [number, w] : to_notify)
      w();
  });
}

void face::forget(const lease_ptr& h) {
  leases.erase(h);
  if (h->watchers.empty())
    return;
  call_back([to_notify = std::exchange(h->watchers, {})] {
    for (auto& [number, w] : to_notify)
      w();
  });
}

void face::end_all() {
  for (const auto& c : std::exchange(calls, {})) {
    c->running.reset();
    c->why = closed_error();
    c->end();
  }
  for (const auto& h : std::exchange(leases, {})) {
    lose(*h, "the client was closed");
    h->it.drop();
  }
}

making<lease_ptr> face::kept(making<lease> make) {
  return [this, make = std::move(make)](session& s, deadline p) { return keep(*this, make, s, p); };
}

making<lease> face::lock(std::string key, mutex_options how) {
  return [key = std::move(key), how = std::move(how)](session& s, deadline p) { return take_mutex(s, key, how, p); };
}

making<lease> face::permits(std::string name, std::uint64_t max, recipe how, std::uint64_t wanted) {
  return [=, name = std::move(name)](session& s, deadline p) { return take_permits(s, name, max, how, wanted, p); };
}

making<lease> face::leadership(std::string name, recipe how, std::string value) {
  return [how, name = std::move(name), value = std::move(value)](session& s, deadline p) {
    return take_leadership(s, name, how, value, p);
  };
}

making<nothing> face::transfer_job(lease_ptr h, std::string name, recipe how) {
  return [this, h = std::move(h), name = std::move(name), how](session& s, deadline p) {
    return transfer(*this, h, name, how, s, p);
  };
}

making<nothing> face::release_job(lease_ptr h) {
  return [this, h = std::move(h)](session&, deadline p) { return release(*this, h, p); };
}

} // namespace detail
} // namespace v0
} // namespace belay
