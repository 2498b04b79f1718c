#include <belay/fenced.hpp>

#include "client/core/mutants.hpp"
#include "client/core/transactions.hpp"

namespace belay {
inline namespace v0 {

task<status> put_under(session& s, const lease& h, std::string lock, std::string key, std::string value,
                       deadline limit) {
  environment& env = s.env();
  if (h.fence() == 0)
    co_return error(outcome::refused, reason::held, "this lock has no fencing token");
  detail::transaction t;
  request q("PUT", request::path_of("/v1/kv/", key));
  if (s.has_claims()) {
    if (!CLIENT_MUTANT(put_without_fence))
      q.query("fence", std::to_string(h.fence())).query(h.claim_id().empty() ? "lock" : "claim", lock);
    q.body(value);
  } else {
    q = t.check_index(lock, h.fence()).set(key, value).to_request();
  }
  backoff pauses(milliseconds(50));
  // Repeated only if it certainly had no effect: another client may have written since.
  detail::decision made = co_await detail::write_once(env, q, limit, pauses, detail::repeats::once);
  if (made.last.status() == 200)
    co_return nothing();
  error why = made.to_error();
  if (made.last.status() == 409 && !made.lost)
    why = error(outcome::refused, reason::held, "the fencing token is not that of the holder: " + why.text(), 409);
  co_return why;
}

} // namespace v0
} // namespace belay
