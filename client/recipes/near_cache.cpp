#include <belay/near_cache.hpp>

#include "client/core/asking.hpp"
#include "client/core/json_answers.hpp"
#include "client/core/mutants.hpp"

#include <algorithm>

namespace belay {
inline namespace v0 {

namespace {

/// @returns null, and the error in `why`, if the response is not a list of keys
std::shared_ptr<const key_table> table_in(const answer& a, error& why) {
  auto out = std::make_shared<key_table>();
  out->index = a.number("X-Consul-Index");
  auto entries = detail::entries_in(a.body());
  if (a.status() == 404 && out->index > 0)
    return out;
  if (a.status() != 200 || !entries) {
    why = a.to_error(false);
    return nullptr;
  }
  for (auto& e : *entries)
    out->keys.insert_or_assign(e.key, std::move(e));
  return out;
}

} // namespace

near_cache::near_cache(environment& env, std::string prefix, near_cache_options options)
    : env_(env), prefix_(std::move(prefix)), options_(options),
      last_error_(outcome::refused, reason::unavailable, "nothing was read yet") {}

void near_cache::start() {
  following_ = follow();
  following_.start();
}

task<void> near_cache::follow() {
  backoff pauses(milliseconds(100), milliseconds(5000));
  for (;;) {
    auto sent_at = env_.now();
    request q("GET", request::path_of("/v1/kv/", prefix_));
    std::uint64_t index = table_ ? table_->index : 0;
    q.query("recurse").query("index", std::to_string(index)).query("wait", detail::text_of(options_.confirm_every));
    auto deadline = sent_at + options_.confirm_every + options_.confirm_every / 16 + detail::one_try;
    answer a = co_await ask(env_, q, deadline);
    auto now = table_in(a, last_error_);
    if (now) {
      // A smaller index belongs to another history, which counts from now on.
      table_ = std::move(now);
      confirmed_ = CLIENT_MUTANT(confirmed_when_answered) ? env_.now() : sent_at;
      pauses.reset();
      answered_.wake_all();
      if (on_change_)
        on_change_();
      continue;
    }
    answered_.wake_all();
    if (CLIENT_MUTANT(cache_gives_up))
      co_return;
    auto again = env_.now() + pauses.next(env_);
    co_await sleep_until(env_, again);
  }
}

std::shared_ptr<const key_table> near_cache::table() {
  if (table_ && (env_.now() - confirmed_ <= options_.stale_if_error || CLIENT_MUTANT(shown_for_ever)))
    return table_;
  return nullptr;
}

task<result<std::shared_ptr<const key_table>>> near_cache::read(deadline limit) {
  for (;;) {
    auto now = table();
    if (now)
      co_return now;
    if (limit.over(env_.now()))
      co_return last_error_;
    co_await sleep_until(env_, limit.at(), limit.stop(), &answered_);
  }
}

} // namespace v0
} // namespace belay
