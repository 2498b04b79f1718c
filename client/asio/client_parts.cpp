#include "client/asio/client_parts.hpp"

#include <boost/asio/post.hpp>

namespace belay {
inline namespace v0 {
namespace detail {

void waiting_call::end(std::exception_ptr what) {
  // Posted, because the coroutine that calls this must end first.
  parts.post([self = shared_from_this()] { self->parts.take_away(self); });
  parts.loop.call_ended();
  {
    std::lock_guard guard(lock);
    if (ended.exchange(true))
      return;
    thrown = std::move(what);
    waits.reset();
  }
  // Notified without the lock, so that the waiter finds it free.
  changed.notify_all();
}

client_parts::client_parts(client_options o)
    : face(std::move(o)), sockets(std::make_unique<socket_environment>(loop.context(), transport_of(options))) {
  live_in(*sockets);
  loop.start();
}

void client_parts::post(std::function<void()> what) {
  boost::asio::post(loop.context(), std::move(what));
}

void client_parts::take_away(const std::shared_ptr<waiting_call>& c) {
  calls.erase(c);
  c->running.reset();
}

/// Blocks until the call has ended. If no other thread runs the loop, the calling thread runs it;
/// otherwise it waits, and is woken to run the loop when that thread leaves it. A call that exceeds
/// its deadline by the grace time is destroyed.
error client_parts::run(whose code, job make, bool with_session, milliseconds within, std::stop_token stop) {
  auto c = std::static_pointer_cast<client_parts>(shared_from_this());
  if (!usable())
    return closed_error();
  if (loop.runs_here())
    return error(outcome::refused, reason::invalid,
                 "blocking calls are not allowed on the thread that runs the client");
  within = at_most_a_year(within);
  auto call = std::make_shared<waiting_call>(*this);
  auto deadline = lease_clock::now() + within;
  auto begin = [c = c.get(), call, make = std::move(make), with_session, deadline]() mutable {
    if (!c->closed) {
      c->begin(call, std::move(make), with_session, deadline);
      return;
    }
    call->why = closed_error();
    call->end();
  };
  std::stop_callback stopped(stop, [c = c.get(), call] { c->post([call] { call->stop.stop(); }); });
  auto has_ended = [&] { return call->ended.load(); };
  auto run_here = [&] { return code == whose::library && loop.run_here(std::ref(begin), has_ended); };
  auto wait = [&] {
    std::lock_guard guard(call->lock);
    if (!has_ended())
      call->waits.emplace(loop, code);
  };
  bool begun = run_here();
  if (!begun) {
    wait();
    // A caller that left the loop in between did not know of this waiter.
    begun = run_here();
  }
  if (!begun && code == whose::library)
    post(std::move(begin));
  else if (!begun)
    call_back(std::move(begin));
  else if (!has_ended())
    wait();
  std::unique_lock guard(call->lock);
  auto end = std::chrono::steady_clock::now() + within + options.grace;
  if (!call->changed.wait_until(guard, end, has_ended)) {
    // The call is destroyed on the loop.
    post([c = c.get(), call] {
      c->take_away(call);
      call->end();
    });
    call->changed.wait(guard, has_ended);
  }
  if (call->thrown)
    std::rethrow_exception(call->thrown);
  return call->why;
}

result<client_lease> client_parts::take(making<lease> make, milliseconds within, std::stop_token stop) {
  auto got = run_for<lease_ptr>(kept(std::move(make)), true, within, std::move(stop));
  if (!got)
    return got.error();
  return client_lease(std::move(*got));
}

} // namespace detail
} // namespace v0
} // namespace belay
