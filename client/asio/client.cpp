#include <belay/client.hpp>

#include <belay/counter.hpp>

#include "client/asio/client_parts.hpp"

#include <boost/asio/post.hpp>

#include <new>

namespace belay {
inline namespace v0 {

using detail::cache_parts;
using detail::cache_ptr;
using detail::client_parts;

namespace {

task<result<std::int64_t>> add_to_counter(environment& env, std::string key, std::int64_t n, deadline limit) {
  counter c(env, key);
  result<std::int64_t> sum = co_await c.add(n, limit);
  co_return sum;
}

task<result<cache_ptr>> begin_to_follow(client_parts& c, std::string prefix, near_cache_options o) {
  auto kept = std::make_shared<cache_parts>(c.weak_from_this(), *c.sockets, std::move(prefix), o);
  auto* raw = kept.get();
  kept->it.on_change([raw] {
    auto now = std::make_shared<cache_parts::state>();
    now->table = raw->it.table();
    now->confirmed = raw->it.confirmed();
    raw->now.store(std::move(now));
  });
  kept->it.start();
  c.caches.push_back(kept);
  co_return kept;
}

task<void> close_session(client_parts& c, session& s, deadline limit) {
  co_await s.close(limit);
  // Posted after everything posted before, so callers are still notified of losses.
  c.post([&c] { c.loop.context().stop(); });
}

} // namespace

client::client(client_options options) : parts_(std::make_shared<detail::client_parts>(std::move(options))) {}

client::~client() {
  if (parts_->pid != ::getpid()) {
    // The thread is in the parent: do not join it, and do not close its sockets.
    new (std::nothrow) std::shared_ptr<detail::client_parts>(std::move(parts_));
    return;
  }
  parts_->closed = true;
  auto closing = std::make_shared<task<void>>();
  auto* p = parts_.get();
  p->call_back([p, closing] {
    // No thread may be waiting now: calls during the destructor are the caller's error and end
    // here.
    p->end_all();
    deadline limit(p->sockets->now() + p->options.linger);
    *closing = close_session(*p, **p->held_by, limit);
    closing->start();
  });
  parts_->loop.join();
  closing->reset();
  for (const auto& c : std::exchange(parts_->caches, {}))
    c->it.stop();
  parts_->held_by.reset();
  parts_->sockets.reset();
}

error client::run_until_done(job make, bool with_session, limit within, std::stop_token stop) {
  return parts_->run(detail::whose::program, std::move(make), with_session, within, std::move(stop));
}

result<client_lease> client::lock_of::acquire(limit within, std::stop_token stop) {
  return client_.parts_->take(client_parts::lock(key_, options_), within, std::move(stop));
}

result<client_lease> client::permits_of::acquire(std::uint64_t permits, limit within, std::stop_token stop) {
  return client_.parts_->take(client_parts::permits(name_, max_, how_, permits), within, std::move(stop));
}

result<client_lease> client::leadership_of::campaign(std::string value, limit within, std::stop_token stop) {
  return client_.parts_->take(client_parts::leadership(name_, how_, std::move(value)), within, std::move(stop));
}

status client::leadership_of::transfer(client_lease& held, limit within) {
  if (!held.parts_)
    return error(outcome::refused, reason::session, "nothing is held");
  auto* c = client_.parts_.get();
  return c->run_for<nothing>(c->transfer_job(held.parts_, name_, how_), true, within);
}

result<std::optional<leader>> client::leadership_of::leader_now(limit within) {
  return client_.parts_->run_for<std::optional<leader>>(
      [name = name_, how = how_](session& s, deadline p) { return detail::current_leader(s, name, how, p); },
      how_ == recipe::automatic, within);
}

result<reading> client::get(std::string key, limit within) {
  return parts_->run_for<reading>([key = std::move(key)](session& s, deadline p) { return read_key(s.env(), key, p); },
                                  false, within);
}

status client::put(std::string key, std::string value, limit within) {
  return parts_->run_for<nothing>([key = std::move(key), value = std::move(value)](
                                      session& s, deadline p) { return put_key(s.env(), key, value, p); },
                                  false, within);
}

result<std::string> client::update(std::string key, change fn, limit within, std::stop_token stop) {
  return parts_->run_for<std::string>(
      [key = std::move(key), fn = std::move(fn)](session& s, deadline p) { return belay::update(s.env(), key, fn, p); },
      false, within, std::move(stop), detail::whose::program);
}

result<erased> client::erase_if(std::string key, std::uint64_t index, limit within) {
  return parts_->run_for<erased>(
      [key = std::move(key), index](session& s, deadline p) { return belay::erase_if(s.env(), key, index, p); }, false,
      within);
}

result<std::int64_t> client::add(std::string key, std::int64_t n, limit within) {
  return parts_->run_for<std::int64_t>(
      [key = std::move(key), n](session& s, deadline p) { return add_to_counter(s.env(), key, n, p); }, false, within);
}

belay::cache client::follow(std::string prefix, near_cache_options options) {
  auto* c = parts_.get();
  auto made = c->run_for<detail::cache_ptr>(
      [c, prefix = std::move(prefix), options](session&, deadline) { return begin_to_follow(*c, prefix, options); },
      false, std::chrono::seconds(5));
  return belay::cache(made ? *made : nullptr);
}

const error& client::wrong() const {
  return parts_->sockets->wrong();
}

} // namespace v0
} // namespace belay
