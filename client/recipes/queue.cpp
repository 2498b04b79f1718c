#include <belay/queue.hpp>

#include "client/core/mutants.hpp"
#include "client/core/transactions.hpp"
#include "client/recipes/waiting.hpp"

#include <algorithm>
#include <vector>

namespace belay {
inline namespace v0 {

namespace {

/// On Consul, a lock delay ends without a change that wakes those that wait.
constexpr milliseconds look_for_delays{2000};

request back_at(const entry& item, const std::string& id) {
  return detail::unlocked_at(item.key, item.index, item.value, item.flags, id);
}

detail::pending_release back_in_queue(const std::string& key, const std::string& id) {
  return detail::pending_release(key, [id](const entry& now) -> std::optional<request> {
    if (now.session != id)
      return std::nullopt;
    return back_at(now, id);
  });
}

} // namespace

task<status> queue::put(std::string value, deadline limit) {
  environment& env = session_.env();
  // Each item has a unique name; the order is that of the log.
  request q("PUT", request::path_of("/v1/kv/", name_ + "/" + detail::fresh_id(env)));
  q.query("cas", "0").body(std::move(value));
  backoff pauses(milliseconds(50));
  // If it was put and acknowledged already, a repeat would put it again.
  detail::decision made = co_await detail::write_once(env, q, limit, pauses, detail::repeats::once);
  if (detail::is_true(made.last))
    co_return nothing();
  error why = made.to_error();
  co_return why;
}

/// Lists the items, oldest first, and locks the first one that no other session and no other task
/// of this session holds. If all are held it waits for a change under the prefix.
task<result<queue_item>> queue::take(deadline whole) {
  environment& env = session_.env();
  deadline limit = whole.with(session_.ended());
  if (!session_.safe())
    co_return detail::session_error(session_);
  std::string id = session_.id();
  std::string prefix = name_ + "/";
  std::uint64_t seen = 0;
  backoff pauses(milliseconds(10), milliseconds(500));
  for (;;) {
    auto over = detail::given_up(session_, id, limit, env.now());
    if (over)
      co_return *over;
    auto wait = seen > 0 ? look_for_delays : detail::longest_wait;
    result<tree_reading> now = co_await await_tree(env, prefix, seen, wait, limit);
    if (!now) {
      if (limit.over(env.now()))
        continue;
      co_return now.error();
    }
    auto& items = now->found;
    std::sort(items.begin(), items.end(), [](const entry& a, const entry& b) { return a.created < b.created; });
    // Also try items that this session holds without a task here: grants whose response was lost.
    session::ticket mine;
    auto item = items.begin();
    for (; item != items.end(); ++item) {
      if (!item->session.empty() && item->session != id)
        continue;
      mine = session::ticket(session_, "item/" + item->key);
      if (mine.is_first())
        break;
      mine.leave();
    }
    if (item == items.end()) {
      seen = now->index < seen ? 0 : now->index;
      if (CLIENT_MUTANT(queue_wakes_late))
        seen += 1000;
      continue;
    }
    entry taken = *item;
    ++taken.flags;
    lease held(session_, back_in_queue(taken.key, id), std::move(mine));
    detail::transaction t;
    // Without the check, the lock would create a key that is gone again.
    if (!CLIENT_MUTANT(queue_takes_unseen))
      t.check_index(taken.key, item->index);
    t.lock(taken.key, taken.value, taken.flags, id);
    detail::decision made = co_await detail::commit(env, t, limit, detail::repeats::harmless);
    if (detail::is_made(made)) {
      if (!detail::still_safe(session_, id))
        co_return detail::session_error(session_);
      taken.index = detail::index_of_result(made.last.body(), taken.key);
      taken.session = id;
      held.release_by(back_at(taken, id));
      held.granted(taken.index);
      co_return queue_item(std::move(held), std::move(taken));
    }
    if (detail::is_conflict(made) && !made.lost)
      held.not_granted();
    else
      held.drop();
    seen = 0;
    auto again = env.now() + pauses.next(env);
    co_await sleep_until(env, again, limit);
  }
}

task<status> queue::ack(queue_item item, deadline limit) {
  if (!item.safe() && !CLIENT_MUTANT(queue_acks_unheld))
    co_return error(outcome::refused, reason::session, "the item was lost before it was acknowledged");
  environment& env = session_.env();
  detail::transaction t;
  if (!CLIENT_MUTANT(queue_acks_unheld))
    t.check_index(item.key(), item.entry_.index);
  t.erase(item.key());
  detail::decision made = co_await detail::commit(env, t, limit, detail::repeats::harmless);
  if (detail::is_made(made)) {
    item.lease_.forget();
    co_return nothing();
  }
  if (!detail::is_conflict(made)) {
    error why = made.to_error();
    co_return why;
  }
  item.lease_.forget();
  if (made.lost)
    co_return error(outcome::unknown, reason::no_answer, "a response was lost, and the item has changed since");
  co_return error(outcome::refused, reason::session, "the item was no longer held");
}

task<status> queue::give_back(queue_item item, deadline limit) {
  if (!item.safe())
    co_return error(outcome::refused, reason::session, "the item was lost before it was released");
  environment& env = session_.env();
  detail::transaction t;
  t.check_index(item.key(), item.entry_.index)
      .unlock(item.key(), item.entry_.value, item.entry_.flags, item.entry_.session);
  detail::decision made = co_await detail::commit(env, t, limit, detail::repeats::harmless);
  if (!detail::is_made(made) && !detail::is_conflict(made)) {
    error why = made.to_error();
    co_return why;
  }
  item.lease_.forget();
  co_return nothing();
}

task<result<std::uint64_t>> queue::size(deadline limit) {
  result<tree_reading> now = co_await read_tree(session_.env(), name_ + "/", limit);
  if (!now)
    co_return now.error();
  co_return static_cast<std::uint64_t>(now->found.size());
}

} // namespace v0
} // namespace belay
