#include <belay/keys.hpp>

#include "client/core/asking.hpp"
#include "client/core/entries.hpp"
#include "client/core/json_answers.hpp"
#include "client/core/mutants.hpp"
#include "client/core/transactions.hpp"

#include <algorithm>

namespace belay {
inline namespace v0 {

namespace {

result<reading> reading_of(const answer& a) {
  reading out;
  out.index = a.number("X-Consul-Index");
  if (a.status() == 404 && out.index > 0)
    return out;
  if (a.status() != 200)
    return a.to_error(false);
  auto entries = detail::entries_in(a.body());
  if (!entries || entries->empty())
    return error(outcome::refused, reason::server, "not a list of keys: " + a.body().substr(0, 100), a.status());
  out.found = std::move(entries->front());
  return out;
}

result<tree_reading> tree_reading_of(const answer& a) {
  tree_reading out;
  out.index = a.number("X-Consul-Index");
  if (a.status() == 404 && out.index > 0)
    return out;
  if (a.status() != 200)
    return a.to_error(false);
  auto entries = detail::entries_in(a.body());
  if (!entries)
    return error(outcome::refused, reason::server, "not a list of keys: " + a.body().substr(0, 100), a.status());
  out.found = std::move(*entries);
  return out;
}

} // namespace

task<result<reading>> read_key(environment& env, std::string key, deadline limit) {
  request q("GET", request::path_of("/v1/kv/", key));
  q.query("consistent");
  answer a = co_await detail::ask_until_answered(env, q, limit, detail::one_try);
  result<reading> out = reading_of(a);
  co_return out;
}

task<result<reading>> await_key(environment& env, std::string key, std::uint64_t index, milliseconds wait,
                                deadline limit) {
  auto longest = std::min(wait, detail::until(env.now(), limit.at()));
  request q("GET", request::path_of("/v1/kv/", key));
  q.query("index", std::to_string(index));
  q.query("wait", detail::text_of(longest));
  // Consul adds up to a sixteenth.
  auto each = longest + longest / 16 + detail::one_try;
  answer a = co_await detail::ask_until_answered(env, q, limit, each);
  result<reading> out = reading_of(a);
  co_return out;
}

task<result<tree_reading>> read_tree(environment& env, std::string prefix, deadline limit) {
  request q("GET", request::path_of("/v1/kv/", prefix));
  q.query("recurse").query("consistent");
  answer a = co_await detail::ask_until_answered(env, q, limit, detail::one_try);
  result<tree_reading> out = tree_reading_of(a);
  co_return out;
}

task<result<tree_reading>> await_tree(environment& env, std::string prefix, std::uint64_t index, milliseconds wait,
                                      deadline limit) {
  auto longest = std::min(wait, detail::until(env.now(), limit.at()));
  request q("GET", request::path_of("/v1/kv/", prefix));
  q.query("recurse").query("consistent").query("index", std::to_string(index)).query("wait", detail::text_of(longest));
  auto each = longest + longest / 16 + detail::one_try;
  answer a = co_await detail::ask_until_answered(env, q, limit, each);
  result<tree_reading> out = tree_reading_of(a);
  co_return out;
}

task<status> put_key(environment& env, std::string key, std::string value, deadline limit) {
  request q("PUT", request::path_of("/v1/kv/", key));
  q.body(std::move(value));
  backoff pauses(milliseconds(50));
  detail::decision made = co_await detail::write_once(env, q, limit, pauses, detail::repeats::once);
  if (detail::is_true(made.last))
    co_return nothing();
  error why = made.to_error();
  co_return why;
}

task<result<std::string>> update(environment& env, std::string key, change fn, deadline limit, backoff pauses) {
  detail::entry_change keeps_flags = [&fn](const std::optional<entry>& now) {
    std::optional<detail::value_and_flags> out;
    if (auto wanted = fn(now))
      out = detail::value_and_flags{std::move(*wanted), now ? now->flags : 0};
    return out;
  };
  result<entry> there = co_await detail::update_entry(env, key, keeps_flags, limit, pauses);
  if (!there)
    co_return there.error();
  co_return there->value;
}

task<result<erased>> erase_if(environment& env, std::string key, std::uint64_t index, deadline limit) {
  // A plain delete with cas responds `true` for a missing key; a transaction distinguishes the two.
  detail::transaction t;
  if (!CLIENT_MUTANT(erased_unseen))
    t.check_index(key, index);
  t.erase(key);
  detail::decision made = co_await detail::commit(env, t, limit, detail::repeats::harmless);
  if (detail::is_made(made))
    co_return erased::erased;
  if (!detail::is_conflict(made)) {
    error why = made.to_error();
    co_return why;
  }
  bool absent = detail::txn_failure_in(made.last.body()).absent;
  bool unsure = made.lost && absent && !CLIENT_MUTANT(lost_erase_told_absent);
  if (unsure)
    co_return error(outcome::unknown, reason::no_answer, "a response was lost, and the key no longer exists");
  auto what = erased::conflict;
  if (absent)
    what = erased::absent;
  co_return what;
}

task<result<erased>> erase_tree_if(environment& env, std::string prefix, std::uint64_t index, deadline limit) {
  result<tree_reading> now = co_await read_tree(env, prefix, limit);
  if (!now)
    co_return now.error();
  if (now->found.empty())
    co_return erased::absent;
  detail::transaction t;
  for (const auto& e : now->found) {
    if (e.index > index && !CLIENT_MUTANT(erased_unseen))
      co_return erased::conflict;
    t.erase_cas(e.key, e.index);
  }
  if (t.size() > detail::operations_max)
    co_return error(outcome::refused, reason::limit, "there are more than 64 keys");
  // The same keys with the same indexes are erased at most once, so retry until it is decided.
  detail::decision made = co_await detail::commit(env, t, limit, detail::repeats::harmless);
  if (detail::is_made(made))
    co_return erased::erased;
  if (!detail::is_conflict(made)) {
    error why = made.to_error();
    co_return why;
  }
  if (made.lost)
    co_return error(outcome::unknown, reason::no_answer, "a response was lost, and keys have changed since");
  co_return erased::conflict;
}

} // namespace v0
} // namespace belay
