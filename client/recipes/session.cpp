#include <belay/session.hpp>

#include <belay/clock_guard.hpp>

#include "client/core/asking.hpp"
#include "client/core/json_answers.hpp"
#include "client/core/mutants.hpp"

#include <algorithm>

namespace belay {
inline namespace v0 {

namespace {

/// Deadline of one try of a pending release; it is retried after a pause.
constexpr milliseconds release_try{2000};
constexpr milliseconds second_time{1000};

} // namespace

session::session(environment& env, session_options options) : env_(env), options_(std::move(options)) {}

session::~session() = default;

request session::creation() const {
  std::string body = "{\"Name\":" + detail::quoted_json(options_.name) + ",\"TTL\":\"" + detail::text_of(options_.ttl) +
                     "\",\"LockDelay\":\"" + detail::text_of(options_.lock_delay) + "\",\"NodeChecks\":[]";
  if (options_.deletes_keys)
    body += ",\"Behavior\":\"delete\"";
  if (options_.mode == session_mode::exact)
    body += ",\"TTLMode\":\"exact\"";
  if (!options_.on_end.empty()) {
    body += ",\"OnEnd\":";
    char between = '[';
    for (const auto& op : options_.on_end) {
      body += between;
      body += "{\"Verb\":\"" + op.verb() + "\",\"Key\":" + detail::quoted_json(op.key());
      body += ",\"Value\":\"" + detail::base64_encoded(op.value()) + "\"}";
      between = ',';
    }
    body += ']';
  }
  request q("PUT", "/v1/session/create");
  q.body(body + "}");
  return q;
}

task<status> session::open(deadline limit) {
  if (!probed_) {
    request q("GET", "/v1/claims");
    q.query("prefix", "belay/");
    answer a = co_await detail::ask_until_answered(env_, q, limit, milliseconds(2000));
    if (detail::is_failure(a)) {
      error why = a.to_error(false);
      co_return why;
    }
    // Consul has no such path; on 403 the server has claims, and the token may not read them.
    has_claims_ = a.status() == 200 || a.status() == 403;
    probed_ = true;
  }
  if (options_.mode == session_mode::exact && !has_claims_)
    co_return error(outcome::refused, reason::unsupported, "this server does not support exact TTLs");
  if (!options_.on_end.empty() && !has_claims_)
    co_return error(outcome::refused, reason::unsupported,
                    "this server does not support operations at the end of a session");

  auto question = creation();
  backoff pauses(milliseconds(100));
  for (;;) {
    auto sent_at = env_.now();
    // If a response is lost, its session holds nothing and ends by its TTL: retrying is harmless.
    auto deadline = std::min(limit.at(), sent_at + options_.ttl / 3);
    answer a = co_await ask(env_, question, deadline, limit);
    auto id = detail::id_in(a.body());
    if (a.status() == 200 && id) {
      id_ = *id;
      lost_reason_.clear();
      state_ = session_state::live;
      ended_.reset();
      pending_bell_.reset();
      closing_ = false;
      closing_bell_.reset();
      extend(sent_at);
      renewing_ = renew();
      renewing_.start();
      releasing_ = send_releases();
      releasing_.start();
      co_return nothing();
    }
    auto again = env_.now() + pauses.next(env_);
    if (!detail::is_failure(a) || limit.stopped() || again >= limit.at()) {
      error why = a.to_error(true);
      co_return why;
    }
    bool reached = co_await sleep_until(env_, again, limit);
    if (!reached)
      co_return limit.error();
  }
}

task<status> session::close(deadline limit) {
  if (state_ == session_state::closed)
    co_return nothing();
  // Releases come first: what the session still holds at its end is withheld for the lock delay.
  closing_ = true;
  closing_bell_.stop();
  while (has_pending_releases() && !limit.over(env_.now()) && !ended_.stopped())
    co_await sleep_until(env_, limit.at(), limit.stop(), &released_);
  request q("PUT", request::path_of("/v1/session/destroy/", id_));
  state_ = session_state::closed;
  lost_reason_.clear();
  over();
  notify_owner();
  answer a = co_await detail::ask_until_answered(env_, q.repeatable(), limit, release_try);
  if (a.status() == 200)
    co_return nothing();
  error why = a.to_error(true);
  co_return why;
}

bool session::safe() {
  if (state_ != session_state::live && state_ != session_state::uncertain)
    return false;
  return env_.now() < safe_until_;
}

void session::extend(instant sent_at) {
  // docs/reference/claims.md, rule 21. Count from the request: the server's TTL starts before the
  // response.
  auto from = CLIENT_MUTANT(safe_from_answer) ? env_.now() : sent_at;
  safe_until_ = from + options_.ttl - options_.ttl / 100;
  // Spread the renewals of sessions that were created at the same time.
  auto third = std::chrono::nanoseconds(options_.ttl) / 3;
  renew_at_ = sent_at + third - third / 1000 * static_cast<std::int64_t>(env_.random(100));
}

task<void> session::renew() {
  backoff pauses(milliseconds(100), milliseconds(1000));
  // A lost response should not cost all the remaining time; a slow server should get enough of it.
  milliseconds each = options_.ttl / 10;
  for (;;) {
    bool reached = co_await sleep_until(env_, std::min(renew_at_, safe_until_), &ended_);
    if (!reached)
      co_return;
    auto sent_at = env_.now();
    if (sent_at >= safe_until_) {
      lose("no renewal was acknowledged in time");
      co_return;
    }
    if (options_.guard && !options_.guard->trusted()) {
      state_ = session_state::uncertain;
      notify_owner();
      renew_at_ = sent_at + options_.ttl / 10;
      continue;
    }
    request q("PUT", request::path_of("/v1/session/renew/", id_));
    q.repeatable().urgent();
    auto deadline = std::min(sent_at + each, safe_until_);
    answer a = co_await ask(env_, q, deadline, &ended_);
    if (ended_.stopped())
      co_return;
    if (a.status() == 200) {
      if (env_.now() >= safe_until_) {
        lose("no renewal was acknowledged in time");
        co_return;
      }
      state_ = session_state::live;
      extend(sent_at);
      pauses.reset();
      each = options_.ttl / 10;
      notify_owner();
      continue;
    }
    if (a.status() == 404) {
      request why("GET", request::path_of("/v1/session/ended/", id_));
      auto soon = env_.now() + milliseconds(1000);
      // It must not count as held while the reason is requested.
      safe_until_ = sent_at;
      state_ = session_state::uncertain;
      notify_owner();
      answer ended_now = co_await ask(env_, why, soon, &ended_);
      if (ended_.stopped())
        co_return;
      auto cause = detail::cause_in(ended_now.body());
      lose(cause.value_or("the server no longer has the session"));
      co_return;
    }
    state_ = session_state::uncertain;
    notify_owner();
    if (!a.received())
      each = std::min(each * 2, options_.ttl / 5);
    renew_at_ = env_.now() + pauses.next(env_);
    if (renew_at_ > safe_until_ || CLIENT_MUTANT(lost_renewal_given_up))
      renew_at_ = safe_until_;
  }
}

void session::lose(std::string why) {
  state_ = session_state::lost;
  lost_reason_ = std::move(why);
  over();
  notify_owner();
}

void session::over() {
  safe_until_ = std::min(safe_until_, env_.now());
  pending_.clear();
  waiting_.clear();
  ended_.stop();
  pending_bell_.stop();
  queue_moved_.wake_all();
  released_.wake_all();
}

void session::notify_owner() {
  if (on_change_)
    on_change_();
}

void session::release_later(detail::pending_release what, ticket t, bool twice) {
  if (state_ == session_state::closed || state_ == session_state::lost)
    return;
  pending_.emplace_back(std::move(what), std::move(t), twice);
  if (!CLIENT_MUTANT(debt_rings_nobody))
    pending_bell_.stop();
}

task<void> session::send_releases() {
  backoff pauses(milliseconds(100), milliseconds(1000));
  for (;;) {
    if (pending_.empty()) {
      auto for_ever = env_.now() + std::chrono::hours(24);
      co_await sleep_until(env_, for_ever, &pending_bell_);
    }
    if (ended_.stopped())
      co_return;
    pending_bell_.reset();
    if (pending_.empty())
      continue;
    deadline each(env_.now() + release_try, &ended_);
    answer a = co_await detail::pending_release::ask(env_, pending_.front().what, each);
    if (ended_.stopped())
      co_return;
    auto again = env_.now() + second_time;
    if (detail::is_failure(a)) {
      again = env_.now() + pauses.next(env_);
    } else {
      pauses.reset();
      bool once_more = std::exchange(pending_.front().twice, false);
      if (!once_more || closing_ || CLIENT_MUTANT(given_back_once)) {
        pending_.pop_front();
        released_.wake_all();
        continue;
      }
      pending_.front().what.renew_key(env_);
    }
    co_await sleep_until(env_, again, &ended_, &closing_bell_);
    if (ended_.stopped())
      co_return;
  }
}

session::ticket::ticket(session& s, std::string name)
    : session_(&s), name_(std::move(name)), number_(s.next_ticket_++) {
  s.waiting_[name_].push_back(number_);
}

session::ticket::ticket(ticket&& other) noexcept
    : session_(std::exchange(other.session_, nullptr)), name_(std::move(other.name_)), number_(other.number_) {}

session::ticket& session::ticket::operator=(ticket&& other) noexcept {
  if (this != &other) {
    leave();
    session_ = std::exchange(other.session_, nullptr);
    name_ = std::move(other.name_);
    number_ = other.number_;
  }
  return *this;
}

bool session::ticket::is_first() const {
  if (!session_)
    return false;
  auto found = session_->waiting_.find(name_);
  return found != session_->waiting_.end() && found->second.front() == number_;
}

void session::ticket::leave() noexcept {
  if (!session_)
    return;
  auto* s = std::exchange(session_, nullptr);
  auto found = s->waiting_.find(name_);
  if (found == s->waiting_.end())
    return;
  std::erase(found->second, number_);
  if (found->second.empty())
    s->waiting_.erase(found);
  if (!CLIENT_MUTANT(turn_wakes_nobody))
    s->queue_moved_.wake_all();
}

} // namespace v0
} // namespace belay
