#include "client/recipes/claim.hpp"

#include "client/core/asking.hpp"
#include "client/core/json_answers.hpp"
#include "client/core/mutants.hpp"
#include "client/recipes/waiting.hpp"

#include <algorithm>

namespace belay {
inline namespace v0 {
namespace detail {

/// Repeats one request with one ID, which keeps its position in the server's queue, until the claim
/// is held or the deadline has passed. On every other way out, `held` gives the claim back.
task<result<lease>> take(session& s, claim wanted, deadline whole) {
  environment& env = s.env();
  deadline limit = whole.with(s.ended());
  if (!s.safe())
    co_return session_error(s);
  std::string session_id = s.id();
  std::string id = fresh_id(env);

  // Tasks of one session take turns: the server rejects a session that would wait for itself.
  session::ticket asks(s, "asks/" + wanted.name);
  while (!asks.is_first()) {
    auto over = given_up(s, session_id, limit, env.now());
    if (over)
      co_return *over;
    co_await sleep_until(env, limit.at(), whole.stop(), &s.queue_moved());
  }
  request withdrawal("DELETE", request::path_of("/v1/claim/", wanted.name));
  withdrawal.query("id", id);
  lease held(s, detail::pending_release(withdrawal), session::ticket(s, "has/" + wanted.name));
  backoff pauses(milliseconds(100), milliseconds(1000));
  bool may_be_queued = false;
  for (;;) {
    auto now = env.now();
    auto over = given_up(s, session_id, limit, now);
    if (over)
      co_return *over;
    auto left = until(now, limit.at());
    auto wait = std::min(wait_within(left), longest_wait);
    request q("PUT", request::path_of("/v1/claim/", wanted.name));
    q.query("session", session_id).query("id", id).query("kind", wanted.kind);
    q.query("wait", text_of(wait)).query("deadline", text_of(left + answer_slack));
    if (!wanted.mode.empty())
      q.query("mode", wanted.mode);
    if (wanted.permits)
      q.query("permits", std::to_string(wanted.permits)).query("limit", std::to_string(wanted.limit));
    // The same ID is the same claim, and keeps its position in the queue.
    q.body(wanted.value).repeatable();
    auto deadline = now + wait + answer_slack;
    answer a = co_await ask(env, q, deadline, limit);

    auto state = claim_in(a.body());
    if (a.status() == 200 && state && state->held) {
      if (!still_safe(s, session_id))
        co_return session_error(s);
      held.granted(state->fence, id);
      co_return std::move(held);
    }
    if (a.status() == 409 && a.header("X-Belay-Reason") == "deadlock") {
      // Another lease of this session is in the way: its release wakes this task.
      auto look_again = env.now() + milliseconds(500);
      co_await sleep_until(env, std::min(look_again, limit.at()), whole.stop(), &s.queue_moved());
      continue;
    }
    error why = a.to_error(true);
    if (a.status() != 200 && !is_failure(a)) {
      // A refusal proves nothing about earlier tries: they are withdrawn.
      if (!may_be_queued)
        held.forget();
      co_return why;
    }
    may_be_queued = may_be_queued || a.sent();
    if (a.status() == 200)
      continue;
    auto again = env.now() + pauses.next(env);
    co_await sleep_until(env, again, limit);
  }
}

} // namespace detail
} // namespace v0
} // namespace belay
