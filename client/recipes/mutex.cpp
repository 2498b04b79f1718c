#include <belay/mutex.hpp>

#include <belay/keys.hpp>

#include "client/core/asking.hpp"
#include "client/core/mutants.hpp"
#include "client/core/transactions.hpp"
#include "client/recipes/claim.hpp"
#include "client/recipes/waiting.hpp"

#include <algorithm>

namespace belay {
inline namespace v0 {

mutex::mutex(session& s, std::string key, mutex_options options)
    : session_(s), key_(std::move(key)), options_(std::move(options)) {}

/// Consul has no fencing tokens. The index of the key, read while it is held, is smaller than that
/// of any later grant. @returns 0 if the key is not locked by that session, or cannot be read
task<std::uint64_t> mutex::fence_of_key(std::string id, deadline limit) {
  environment& env = session_.env();
  result<reading> now = co_await read_key(env, key_, limit);
  if (now && now->found && now->found->session == id)
    co_return now->found->index;
  co_return 0;
}

detail::pending_release mutex::release_of(const std::string& id) {
  request plain("PUT", request::path_of("/v1/kv/", key_));
  plain.query("release", id);
  if (session_.has_claims())
    return detail::pending_release(plain, detail::fresh_id(session_.env()));
  if (CLIENT_MUTANT(late_release_counts))
    return detail::pending_release(plain);
  return detail::pending_release(key_, [key = key_, id](const entry& now) -> std::optional<request> {
    if (now.session != id)
      return std::nullopt;
    return detail::unlocked_at(key, now.index, {}, 0, id);
  });
}

/// Tasks of one session take turns. The first of them repeats one request, which queues at the
/// server, until the lock is granted or the deadline has passed. Consul does not queue: there it
/// waits until the key is free, and tries again.
task<result<lease>> mutex::acquire(deadline whole) {
  environment& env = session_.env();
  deadline limit = whole.with(session_.ended());
  if (!session_.safe())
    co_return detail::session_error(session_);
  if (options_.how == recipe::claims) {
    if (!session_.has_claims())
      co_return error(outcome::refused, reason::unsupported, "this requires claims, which the server does not support");
    detail::claim wanted(key_, "lock");
    wanted.value = options_.value;
    result<lease> claimed = co_await detail::take(session_, wanted, whole);
    co_return std::move(claimed);
  }
  std::string id = session_.id();

  session::ticket mine(session_, "key/" + key_);
  while (!mine.is_first()) {
    auto why = detail::given_up(session_, id, limit, env.now());
    if (why)
      co_return *why;
    co_await sleep_until(env, limit.at(), whole.stop(), &session_.queue_moved());
  }

  lease held(session_, release_of(id), std::move(mine));
  backoff pauses(milliseconds(100), milliseconds(1000));
  bool may_be_queued = false;
  for (;;) {
    auto now = env.now();
    auto over = detail::given_up(session_, id, limit, now);
    if (over)
      co_return *over;
    auto left = detail::until(now, limit.at());
    auto wait = std::min(detail::wait_within(left), detail::longest_wait);
    request q("PUT", request::path_of("/v1/kv/", key_));
    q.query("acquire", id).query("flags", std::to_string(options_.flags)).query("queue", detail::text_of(wait));
    q.query("wait", detail::text_of(wait)); // the same parameter for servers of 0.2.0; to be removed in 0.5
    // If the session is the same, this continues the wait, or finds the lock held.
    q.body(options_.value).repeatable();
    auto deadline = now + wait + detail::answer_slack;
    answer a = co_await ask(env, q, deadline, limit);

    if (detail::is_true(a)) {
      std::uint64_t fence = a.number("X-Belay-Fence");
      if (fence == 0) {
        std::uint64_t index = co_await fence_of_key(id, limit);
        fence = index;
      }
      if (fence == 0)
        continue;
      if (!detail::still_safe(session_, id))
        co_return detail::session_error(session_);
      held.granted(fence);
      co_return std::move(held);
    }
    error why = a.to_error(true);
    if (!detail::is_failure(a) && a.status() != 200) {
      // A refusal proves nothing about earlier tries: they are withdrawn.
      if (!may_be_queued)
        held.forget();
      co_return why;
    }
    may_be_queued = may_be_queued || a.sent();
    auto again = env.now() + pauses.next(env);
    if (why.retry_after().count() > 0)
      again = env.now() + why.retry_after();
    if (a.status() == 200 && a.header("X-Belay-Reason").empty()) {
      // Consul does not queue. If the key is not locked, there is a lock delay of unknown length.
      bool was_locked = co_await wait_while_locked(limit);
      if (was_locked)
        continue;
    }
    co_await sleep_until(env, again, limit);
  }
}

/// @returns whether the key was locked at the time of the call; true if that is unknown
task<bool> mutex::wait_while_locked(deadline limit) {
  environment& env = session_.env();
  std::uint64_t seen = 0;
  bool was_locked = false;
  for (;;) {
    result<reading> key = co_await await_key(env, key_, seen, detail::longest_wait, limit);
    if (!key || !key->found || key->found->session.empty())
      co_return was_locked;
    was_locked = true;
    // An index that goes back belongs to another history.
    seen = key->index < seen ? 0 : key->index;
    if (limit.over(env.now()))
      co_return true;
  }
}

} // namespace v0
} // namespace belay
