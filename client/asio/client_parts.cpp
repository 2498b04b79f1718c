#include "client/asio/client_parts.hpp"

#include <boost/asio/post.hpp>

namespace belay {
inline namespace v0 {
namespace detail {

void waiting_call::end(std::exception_ptr what) {
  // Behind the coroutine that says so; from the loop's own thread that wakes nobody.
  asio::post(parts.loop, [self = shared_from_this()] { self->parts.take_away(self); });
  {
    std::lock_guard guard(lock);
    if (std::exchange(ended, true))
      return;
    thrown = std::move(what);
  }
  // Who wakes up finds the lock free.
  changed.notify_all();
}

client_parts::client_parts(client_options o)
    : face(std::move(o)), work(asio::make_work_guard(loop)),
      sockets(std::make_unique<socket_world>(loop, transport_of(options))) {
  live_in(*sockets);
  thread = std::thread([this] { loop.run(); });
}

void client_parts::post(std::function<void()> what) {
  asio::post(loop, std::move(what));
}

void client_parts::take_away(const std::shared_ptr<waiting_call>& c) {
  calls.erase(c);
  c->running.reset();
}

error client_parts::run(job make, bool with_session, milliseconds within, std::stop_token stop) {
  auto c = std::static_pointer_cast<client_parts>(shared_from_this());
  if (!usable())
    return closed_error();
  if (own_thread())
    return error(outcome::refused, reason::invalid, "this is the client's own thread: nothing may wait here");
  auto call = std::make_shared<waiting_call>(*this);
  auto deadline = lease_clock::now() + within;
  asio::post(loop, [c = c.get(), call, make = std::move(make), with_session, deadline]() mutable {
    if (!c->closed) {
      c->begin(call, std::move(make), with_session, deadline);
      return;
    }
    call->why = closed_error();
    call->end();
  });
  std::stop_callback stopped(stop, [c = c.get(), call] { asio::post(c->loop, [call] { call->stop.stop(); }); });
  std::unique_lock guard(call->lock);
  auto has_ended = [&] { return call->ended; };
  auto end = std::chrono::steady_clock::now() + within + options.grace;
  if (!call->changed.wait_until(guard, end, has_ended)) {
    // It is destroyed on its own thread.
    asio::post(loop, [c = c.get(), call] {
      c->take_away(call);
      call->end();
    });
    call->changed.wait(guard, has_ended);
  }
  if (call->thrown)
    std::rethrow_exception(call->thrown);
  return call->why;
}

result<held> client_parts::take(making<hold> make, milliseconds within, std::stop_token stop) {
  auto got = run_for<held_ptr>(kept(std::move(make)), true, within, std::move(stop));
  if (!got)
    return got.why();
  return held(std::move(*got));
}

} // namespace detail
} // namespace v0
} // namespace belay
