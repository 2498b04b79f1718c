#include "client/core/asking.hpp"

#include "client/core/json_answers.hpp"
#include "client/core/mutants.hpp"

#include <algorithm>

namespace belay {
inline namespace v0 {

milliseconds backoff::next(environment& env) {
  auto bound = bound_;
  bound_ = std::min(bound_ * 2, longest_);
  return milliseconds(1 + static_cast<std::int64_t>(env.random(static_cast<std::uint64_t>(bound.count()))));
}

namespace detail {

bool is_failure(const answer& a) {
  if (!a.received())
    return a.to_error(true).reason() != reason::invalid;
  return a.status() >= 500 && a.to_error(true).outcome() == outcome::unknown;
}

bool knows_no_keys(const answer& a) {
  // It sends 409 and a plain text; other 409s have a reason, or are those of transactions.
  if (a.status() != 409 || !a.header("X-Belay-Reason").empty())
    return false;
  auto failed = txn_failure_in(a.body());
  return !failed.absent && !failed.index;
}

bool is_true(const answer& a) {
  return a.status() == 200 && a.body().substr(0, 4) == "true";
}

milliseconds until(instant now, instant end) {
  return end > now ? std::chrono::ceil<milliseconds>(end - now) : milliseconds(0);
}

error no_number(const std::string& key) {
  return error(outcome::refused, reason::invalid, "the key " + key + " does not hold a number");
}

std::string text_of(milliseconds t) {
  return std::to_string(t.count()) + "ms";
}

std::string fresh_id(environment& env) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (int i = 0; i < 32; ++i)
    out += digits[env.random(16)];
  return out;
}

task<answer> ask_until_answered(environment& env, request q, deadline limit, milliseconds each) {
  backoff pauses(milliseconds(50));
  for (;;) {
    auto now = env.now();
    auto deadline = std::min(limit.at(), now + each);
    answer a = co_await ask(env, q, deadline, limit);
    if (!is_failure(a) || limit.stopped())
      co_return a;
    auto again = env.now() + pauses.next(env);
    if (again >= limit.at())
      co_return a;
    bool reached = co_await sleep_until(env, again, limit);
    if (!reached)
      co_return a;
  }
}

error decision::to_error() const {
  error why = last.to_error(true);
  if (lost && why.outcome() != outcome::unknown)
    return error(outcome::unknown, why.reason(), "a response was lost before: " + why.text(), why.status());
  return why;
}

namespace {

/// Deadline of one try. A request that cannot be repeated gets most of the remaining time.
instant try_until(instant now, const deadline& limit, repeats how) {
  auto each = std::chrono::nanoseconds(one_try);
  if (how == repeats::once)
    each = std::max(each, (limit.at() - now) / 3 * 2);
  return now + each;
}

/// Makes sure that a write never takes effect, unless it did already.
task<answer> cancel_write(environment& env, std::string key, deadline limit) {
  request q("PUT", request::path_of("/v1/outcome/", key).append("/cancel"));
  q.repeatable();
  answer a = co_await ask_until_answered(env, q, limit, one_try);
  if (a.status() != 405)
    co_return a;
  request old("DELETE", request::path_of("/v1/outcome/", key)); // a server of 0.2.0
  old.repeatable();
  answer again = co_await ask_until_answered(env, old, limit, one_try);
  co_return again;
}

} // namespace

/// Each try has a fresh idempotency key. If its response is lost, the outcome of that key is
/// requested, which cancels the write if it has not happened; only then is the write tried again.
/// Servers without idempotency keys get the write once, unless a repeat is harmless.
task<decision> write_once(environment& env, request plain, deadline limit, backoff pauses, repeats how) {
  bool keyed = true;
  bool lost = false;
  for (;;) {
    std::string key = fresh_id(env);
    request q = plain;
    if (keyed)
      q.header("Idempotency-Key", key);
    auto deadline = try_until(env.now(), limit, how);
    answer a = co_await ask(env, q, deadline, limit);
    // With a key, the server rejects a write whose response is too large to keep: nothing was done.
    // A write that may be repeated needs no key.
    bool too_large = how == repeats::harmless && a.status() == 413 && a.header("X-Belay-Reason") == "answer-size";
    if (keyed && (knows_no_keys(a) || too_large)) {
      keyed = false;
      continue;
    }
    bool failed = is_failure(a);
    bool unknown = failed && a.to_error(true).outcome() == outcome::unknown;
    if (unknown && keyed) {
      answer cancelled = co_await cancel_write(env, key, limit);
      auto became = outcome_in(cancelled);
      if (became && became->done && !CLIENT_MUTANT(outcome_ignored)) {
        decision out(std::move(became->answered), lost);
        co_return out;
      }
      unknown = !became;
    }
    auto again = env.now() + pauses.next(env);
    bool over = !failed || limit.stopped() || again >= limit.at();
    if (over || (unknown && how == repeats::once)) {
      decision out(std::move(a), lost || unknown);
      co_return out;
    }
    lost = lost || unknown;
    bool reached = co_await sleep_until(env, again, limit);
    if (!reached) {
      decision out(std::move(a), lost);
      co_return out;
    }
  }
}

} // namespace detail

} // namespace v0
} // namespace belay
