#include <belay/session.hpp>

#include "client/core/asking.hpp"
#include "client/core/mutants.hpp"

namespace belay {
inline namespace v0 {
namespace detail {

pending_release::pending_release(request harmless) : question_(std::move(harmless.repeatable())) {}

pending_release::pending_release(request plain, std::string idempotency_key)
    : question_(std::move(plain.repeatable())), idempotency_key_(std::move(idempotency_key)) {}

pending_release::pending_release(std::string key, std::function<std::optional<request>(const entry&)> exactly)
    : key_(std::move(key)), exactly_(std::move(exactly)) {}

void pending_release::renew_key(environment& env) {
  if (!idempotency_key_.empty() && !CLIENT_MUTANT(give_back_keyed_alike))
    idempotency_key_ = detail::fresh_id(env);
}

task<answer> pending_release::ask(environment& env, pending_release what, deadline limit) {
  for (;;) {
    if (!what.question_) {
      result<reading> now = co_await read_key(env, what.key_, limit);
      if (!now)
        co_return answer::none(true, now.error().text());
      if (now->found)
        what.question_ = what.exactly_(*now->found);
      if (!what.question_)
        co_return answer(200, "false");
    }
    request q = *what.question_;
    if (!what.idempotency_key_.empty() && !CLIENT_MUTANT(late_release_counts))
      q.header("Idempotency-Key", what.idempotency_key_);
    answer a = co_await belay::ask(env, q, limit.at(), limit);
    if (detail::is_failure(a))
      co_return a;
    if (!what.idempotency_key_.empty() && detail::knows_no_keys(a)) {
      what.idempotency_key_.clear();
      continue;
    }
    // A transaction is rejected with 409; a conditional write responds `false`.
    bool changed = a.status() == 409 || (a.status() == 200 && a.body().substr(0, 5) == "false");
    if (!what.exactly_ || !changed) {
      if (what.exactly_ && a.status() == 200)
        co_return answer(200, "true");
      co_return a;
    }
    what.question_.reset();
  }
}

} // namespace detail
} // namespace v0
} // namespace belay
