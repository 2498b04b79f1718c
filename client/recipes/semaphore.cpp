#include <belay/semaphore.hpp>

#include <belay/keys.hpp>

#include "client/core/asking.hpp"
#include "client/core/json_answers.hpp"
#include "client/core/mutants.hpp"
#include "client/recipes/claim.hpp"
#include "client/recipes/waiting.hpp"

#include <algorithm>

namespace belay {
inline namespace v0 {

namespace {

/// The flags with which Consul's clients mark the keys of a semaphore.
constexpr std::uint64_t slot_flags = 0xe0f69a2baa414de0;

/// The keys below NAME/ at one index.
class slots {
public:
  slots() = default;
  detail::slot_table table;
  std::uint64_t table_index = 0; ///< index of the key with the holders; 0: there is none
  std::uint64_t index = 0;
  std::uint64_t own_index = 0; ///< index of its own contender key; 0: there is none
};

/// Leaves out holders whose contender key is gone.
result<slots> slots_of(const answer& a, const std::string& lock_key, const std::string& own_key, std::uint64_t limit) {
  slots out;
  out.table.limit = limit;
  out.index = a.number("X-Consul-Index");
  if (a.status() == 404 && out.index > 0)
    return out;
  auto entries = detail::entries_in(a.body());
  if (a.status() != 200 || !entries)
    return a.to_error(false);
  for (const auto& e : *entries) {
    if (e.key == own_key)
      out.own_index = e.index;
    if (e.key != lock_key)
      continue;
    auto table = detail::slots_in(e.value);
    if (!table || e.flags != slot_flags)
      return error(outcome::refused, reason::invalid, "the key " + lock_key + " is not a semaphore");
    if (table->limit != limit)
      return error(outcome::refused, reason::invalid, "the semaphore has the limit " + std::to_string(table->limit));
    out.table = std::move(*table);
    out.table_index = e.index;
  }
  std::erase_if(out.table.holders, [&](const std::string& holder) {
    return std::none_of(entries->begin(), entries->end(), [&](const entry& e) { return e.session == holder; });
  });
  return out;
}

request contender_removed(const std::string& key, std::uint64_t index) {
  request q("DELETE", request::path_of("/v1/kv/", key));
  q.query("cas", std::to_string(index)).repeatable();
  return q;
}

std::optional<request> contender_removed_at(const entry& now) {
  return contender_removed(now.key, now.index);
}

} // namespace

semaphore::semaphore(session& s, std::string name, std::uint64_t limit, recipe how)
    : session_(s), name_(std::move(name)), limit_(limit), how_(how) {}

task<result<lease>> semaphore::acquire(std::uint64_t permits, deadline limit) {
  bool claims = session_.has_claims() && how_ != recipe::keys;
  if (!claims && (how_ == recipe::claims || permits != 1))
    co_return error(outcome::refused, reason::unsupported, "this requires claims, which the server does not support");
  if (!claims) {
    result<lease> slot = co_await acquire_slot(limit);
    co_return std::move(slot);
  }
  detail::claim wanted(name_, "semaphore");
  wanted.permits = permits;
  wanted.limit = limit_;
  result<lease> held = co_await detail::take(session_, wanted, limit);
  co_return std::move(held);
}

/// Consul's recipe for semaphores. Each client locks a contender key under the name. The key
/// `.lock` lists the holders and changes by check-and-set only. A client waits until the list has
/// fewer holders than the limit, and then adds itself.
task<result<lease>> semaphore::acquire_slot(deadline whole) {
  environment& env = session_.env();
  deadline limit = whole.with(session_.ended());
  if (!session_.safe())
    co_return detail::session_error(session_);
  std::string id = session_.id();
  std::string lock_key = name_ + "/.lock";
  std::string own_key = name_ + "/" + id;

  session::ticket mine(session_, "slot/" + name_);
  while (!mine.is_first()) {
    auto why = detail::given_up(session_, id, limit, env.now());
    if (why)
      co_return *why;
    co_await sleep_until(env, limit.at(), whole.stop(), &session_.queue_moved());
  }
  // A holder without its contender key does not count.
  lease held(session_, detail::pending_release(own_key, contender_removed_at), std::move(mine));

  request contend("PUT", request::path_of("/v1/kv/", own_key));
  contend.query("acquire", id).query("flags", std::to_string(slot_flags)).repeatable();
  // A new value each time gives a new index, so that late requests fail.
  contend.body(detail::fresh_id(env));
  answer there = co_await detail::ask_until_answered(env, contend, limit, milliseconds(5000));
  if (!detail::is_true(there)) {
    error why = there.to_error(true);
    co_return why;
  }

  std::uint64_t seen = 0;
  bool entered = false;
  backoff pauses(milliseconds(20), milliseconds(1000));
  for (;;) {
    auto over = detail::given_up(session_, id, limit, env.now());
    if (over)
      co_return *over;
    auto wait = std::min(detail::until(env.now(), limit.at()), milliseconds(60000));
    request q("GET", request::path_of("/v1/kv/", name_ + "/"));
    q.query("recurse").query("consistent").query("index", std::to_string(seen)).query("wait", detail::text_of(wait));
    answer a = co_await detail::ask_until_answered(env, q, limit, wait + wait / 16 + detail::answer_slack);
    result<slots> now = slots_of(a, lock_key, own_key, limit_);
    if (!now) {
      error why = now.error();
      if (limit.over(env.now()))
        co_return limit.error();
      co_return why;
    }
    if (now->own_index > 0) {
      held.release_by(contender_removed(own_key, now->own_index));
    }
    auto& holders = now->table.holders;
    bool listed = std::find(holders.begin(), holders.end(), id) != holders.end();
    bool have = listed && (entered || CLIENT_MUTANT(stale_slot_taken));
    if (!have) {
      if (listed) {
        // It is left from an earlier lease that was released. Another client may be about to remove
        // it.
        std::erase(holders, id);
      } else if (holders.size() >= limit_) {
        seen = now->index < seen ? 0 : now->index;
        continue;
      } else {
        holders.push_back(id);
        entered = true;
      }
      request change("PUT", request::path_of("/v1/kv/", lock_key));
      change.query("cas", std::to_string(now->table_index)).query("flags", std::to_string(slot_flags));
      change.body(detail::text_of(now->table)).repeatable();
      answer changed = co_await ask(env, change, limit.at(), limit);
      have = !listed && detail::is_true(changed);
    }
    seen = 0;
    if (have) {
      if (!detail::still_safe(session_, id))
        co_return detail::session_error(session_);
      held.granted(0);
      co_return std::move(held);
    }
    auto again = env.now() + pauses.next(env);
    co_await sleep_until(env, again, limit);
  }
}

} // namespace v0
} // namespace belay
