#include <belay/election.hpp>

#include <belay/mutex.hpp>

#include "client/core/asking.hpp"
#include "client/core/json_answers.hpp"
#include "client/core/mutants.hpp"
#include "client/recipes/claim.hpp"
#include "client/recipes/waiting.hpp"

#include <algorithm>

namespace belay {
inline namespace v0 {

namespace {

/// @returns an error if the response does not show a leadership
result<std::optional<leader>> leader_in(const answer& a, bool claims) {
  std::optional<leader> none;
  if (a.status() == 404 && a.number("X-Consul-Index") > 0)
    return none;
  if (a.status() != 200)
    return a.to_error(false);
  leader out;
  if (claims) {
    auto holder = detail::first_holder_in(a.body());
    if (!holder || holder->id.empty())
      return none;
    out.session = holder->session;
    out.value = holder->value;
    out.fence = holder->fence;
  } else {
    auto entries = detail::entries_in(a.body());
    if (!entries || entries->empty() || entries->front().session.empty())
      return none;
    out.session = entries->front().session;
    out.value = entries->front().value;
    out.fence = a.number("X-Belay-Fence");
  }
  return std::optional<leader>(std::move(out));
}

/// @param action `/transfer`, or its name before 0.3.0
request transfer_request(const std::string& name, std::string_view action, const std::string& id,
                         const std::string& to) {
  request q("PUT", request::path_of("/v1/claim/", name).append(action));
  q.query("id", id);
  if (!to.empty())
    q.query("to", to);
  return q;
}

/// Whether the server may be of 0.2.0, to which `/transfer` is the end of a claim's name. It
/// rejects that claim: it has no session, or the token may not write the name. Nothing was changed.
bool knows_no_transfer(const answer& a) {
  return a.status() == 403 || (a.status() == 400 && a.header("X-Belay-Reason") == "parameter");
}

bool same(const std::optional<leader>& a, const std::optional<leader>& b) {
  if (!a || !b)
    return !a && !b;
  return a->session == b->session && a->value == b->value && a->fence == b->fence;
}

} // namespace

election::election(session& s, std::string name, recipe how) : session_(s), name_(std::move(name)), how_(how) {}

task<result<lease>> election::campaign(std::string value, deadline limit) {
  if (!session_.has_claims() && how_ == recipe::claims)
    co_return error(outcome::refused, reason::unsupported, "this requires claims, which the server does not support");
  if (!session_.has_claims() || how_ == recipe::keys) {
    mutex_options options;
    options.value = value;
    mutex lock(session_, name_, options);
    result<lease> held = co_await lock.acquire(limit);
    co_return std::move(held);
  }
  detail::claim wanted(name_, "election");
  wanted.value = value;
  result<lease> held = co_await detail::take(session_, wanted, limit);
  co_return std::move(held);
}

task<status> election::transfer(lease& held, deadline limit, std::string to) {
  if (held.claim_id().empty())
    co_return error(outcome::refused, reason::unsupported, "this requires claims, which the server does not support");
  if (!held.safe())
    co_return detail::session_error(session_);
  environment& env = session_.env();
  std::string id = held.claim_id();
  request q = transfer_request(name_, "/transfer", id, to);
  // The next leader may start before the response arrives.
  held.transferring(!CLIENT_MUTANT(office_safe_while_passed_on));
  answer a = co_await ask(env, q, limit.at(), limit);
  if (knows_no_transfer(a)) {
    request old = transfer_request(name_, "/hand-over", id, to);
    answer again = co_await ask(env, old, limit.at(), limit);
    a = std::move(again);
  }
  held.transferring(false);
  if (a.status() == 200) {
    if (!CLIENT_MUTANT(leadership_kept_after_transfer))
      held.forget();
    co_return nothing();
  }
  error why = a.to_error(true);
  if (why.outcome() == outcome::unknown && !CLIENT_MUTANT(office_kept_when_unknown))
    held.drop();
  co_return why;
}

task<result<std::optional<leader>>> election_observer::next(deadline limit) {
  for (;;) {
    auto wait = std::min(detail::until(env_.now(), limit.at()), milliseconds(60000));
    request q("GET", request::path_of(claims_ ? "/v1/claim/" : "/v1/kv/", name_));
    q.query("index", std::to_string(seen_)).query("wait", detail::text_of(wait));
    answer a = co_await detail::ask_until_answered(env_, q, limit, wait + wait / 16 + detail::answer_slack);
    result<std::optional<leader>> now = leader_in(a, claims_);
    if (!now) {
      error why = now.error();
      co_return why;
    }
    auto index = a.number("X-Consul-Index");
    seen_ = index < seen_ ? 0 : index;
    if (CLIENT_MUTANT(observer_looks_past_change))
      ++seen_;
    if (first_ || !same(*now, last_)) {
      first_ = false;
      last_ = *now;
      co_return last_;
    }
    if (limit.over(env_.now()))
      co_return limit.error();
  }
}

} // namespace v0
} // namespace belay
