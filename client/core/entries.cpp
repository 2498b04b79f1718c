#include "client/core/entries.hpp"

#include "client/core/asking.hpp"
#include "client/core/mutants.hpp"

namespace belay {
inline namespace v0 {
namespace detail {

task<result<entry>> update_entry(environment& env, std::string key, const entry_change& fn, deadline limit,
                                 backoff pauses) {
  for (;;) {
    auto before = co_await read_key(env, key, limit);
    if (!before)
      co_return before.error();
    std::optional<value_and_flags> wanted = fn(before->found);
    if (!wanted) {
      if (before->found)
        co_return *before->found;
      co_return error(outcome::refused, reason::absent, "the key does not exist, and there is nothing to write");
    }
    request q("PUT", request::path_of("/v1/kv/", key));
    auto index = before->found ? before->found->index : 0;
    q.query("cas", std::to_string(index));
    if (wanted->flags)
      q.query("flags", std::to_string(wanted->flags));
    q.body(wanted->value);

    // A repeat with the same index takes effect at most once, so retry until it is decided.
    decision made = co_await write_once(env, q, limit, pauses, repeats::harmless);
    if (is_true(made.last)) {
      entry now;
      now.key = key;
      now.value = wanted->value;
      now.flags = wanted->flags;
      co_return now;
    }
    if (made.last.status() != 200) {
      error why = made.to_error();
      co_return why;
    }
    // This try had no effect. If a response was lost, an earlier try may have written a value that
    // was overwritten since: the outcome is unknown.
    if (made.lost && !CLIENT_MUTANT(lost_write_repeated))
      co_return error(outcome::unknown, reason::no_answer, "a response was lost, and the key has changed since");
    auto again = env.now() + pauses.next(env);
    if (again >= limit.at())
      co_return error(outcome::refused, reason::index, "other clients wrote first until the deadline");
    bool reached = co_await sleep_until(env, again, limit);
    if (!reached)
      co_return limit.error();
  }
}

} // namespace detail
} // namespace v0
} // namespace belay
