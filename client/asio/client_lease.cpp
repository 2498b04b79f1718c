#include <belay/client.hpp>

#include "client/asio/client_parts.hpp"

#include <new>

namespace belay {
inline namespace v0 {

namespace {

task<status> first_read(detail::cache_ptr c, deadline limit) {
  result<std::shared_ptr<const key_table>> read = co_await c->it.read(limit);
  if (!read)
    co_return read.error();
  co_return nothing();
}

} // namespace

client_lease& client_lease::operator=(client_lease&& other) noexcept {
  std::swap(parts_, other.parts_);
  return *this;
}

client_lease::~client_lease() {
  if (!parts_)
    return;
  if (parts_->pid != ::getpid()) {
    new (std::nothrow) std::shared_ptr<detail::lease_parts>(std::move(parts_));
    return;
  }
  auto c = parts_->owner.lock();
  // A closed client has released everything.
  if (!c || c->closed)
    return;
  parts_->safe_until = 0;
  c->post([weak = parts_->owner, h = std::move(parts_)] {
    auto c = weak.lock();
    if (!c || c->leases.count(h) == 0)
      return;
    c->forget(h);
    h->it.drop();
  });
}

std::uint64_t client_lease::fence() const noexcept {
  return parts_ ? parts_->fence : 0;
}

instant client_lease::safe_until() const noexcept {
  bool ours = parts_ && parts_->pid == ::getpid();
  return instant(instant::duration(ours ? parts_->safe_until.load() : 0));
}

bool client_lease::safe() const noexcept {
  return lease_clock::now() < safe_until();
}

std::stop_token client_lease::lost() const {
  if (parts_ && parts_->pid == ::getpid())
    return parts_->lost.get_token();
  std::stop_source over;
  over.request_stop();
  return over.get_token();
}

std::string client_lease::lost_reason() const {
  if (!parts_)
    return "nothing is held";
  if (parts_->pid != ::getpid())
    return "this process was forked from the one that holds it";
  std::lock_guard guard(parts_->lock);
  return parts_->lost_reason;
}

status client_lease::release(std::chrono::milliseconds limit) {
  auto c = parts_ ? parts_->owner.lock() : nullptr;
  if (!c)
    return error(outcome::refused, reason::session, "nothing is held");
  return c->run_for<nothing>(c->release_job(parts_), false, limit);
}

std::optional<cache::shown> cache::get(std::string_view key) const {
  auto state = parts_ ? parts_->now.load() : nullptr;
  if (!state || !state->table)
    return std::nullopt;
  auto age = lease_clock::now() - state->confirmed;
  if (age > parts_->options.stale_if_error)
    return std::nullopt;
  return shown(state->table, state->table->find(key), age);
}

status cache::wait(std::chrono::milliseconds limit) const {
  auto c = parts_ ? parts_->owner.lock() : nullptr;
  if (!c)
    return detail::closed_error();
  return c->run_for<nothing>([p = parts_](session&, deadline limit) { return first_read(p, limit); }, false, limit);
}

} // namespace v0
} // namespace belay
