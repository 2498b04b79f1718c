#include <belay/shared_mutex.hpp>

#include "client/core/asking.hpp"
#include "client/core/mutants.hpp"
#include "client/recipes/claim.hpp"
#include "client/recipes/waiting.hpp"

namespace belay {
inline namespace v0 {

task<result<lease>> shared_mutex::take(std::string mode, std::string value, deadline limit) {
  if (!session_.has_claims())
    co_return error(outcome::refused, reason::unsupported, "this requires claims, which the server does not support");
  detail::claim wanted(name_, "rw");
  wanted.mode = CLIENT_MUTANT(writer_asks_as_reader) ? "shared" : std::move(mode);
  wanted.value = std::move(value);
  result<lease> held = co_await detail::take(session_, wanted, limit);
  co_return std::move(held);
}

task<result<lease>> shared_mutex::acquire(deadline limit, std::string value) {
  result<lease> held = co_await take("exclusive", value, limit);
  co_return std::move(held);
}

task<result<lease>> shared_mutex::acquire_shared(deadline limit, std::string value) {
  result<lease> held = co_await take("shared", value, limit);
  co_return std::move(held);
}

task<status> shared_mutex::downgrade(lease& alone, deadline limit) {
  if (!alone.safe())
    co_return detail::session_error(session_);
  environment& env = session_.env();
  request q("PUT", request::path_of("/v1/claim/", name_) + "/mode");
  // A claim that is a reader's already stays one: retrying is harmless.
  q.query("id", alone.claim_id()).query("mode", "shared").repeatable();
  answer a = co_await detail::ask_until_answered(env, q, limit, detail::one_try);
  if (a.status() == 200 && alone.safe())
    co_return nothing();
  if (a.status() == 200)
    co_return detail::session_error(session_);
  error why = a.to_error(true);
  co_return why;
}

} // namespace v0
} // namespace belay
