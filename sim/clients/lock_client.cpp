#include "sim/clients/lock_client.hpp"

#include "protocol/base/uuid.hpp"
#include "sim/chance/drawn_parts.hpp"
#include "sim/clients/client_commands.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace belay::sim {

using state::kv_verb;
using std::chrono::milliseconds;

namespace {

// Some kinds of requests (kind_part) do not depend on the state of the lock; with the others the
// client continues with its lock or semaphore.
constexpr std::uint64_t kind_renew_early = 25;
constexpr std::uint64_t kind_end_session = 26;
constexpr std::uint64_t kind_list_locks = 27;
constexpr std::uint64_t kind_read_session = 28;
constexpr std::uint64_t kind_oversleep = 29;
constexpr std::uint64_t kind_check_fails = 30;
constexpr std::uint64_t kind_deregister = 31;
// A number below it acquires the lock by a plain write, any other by a transaction that also writes
// guarded data.
constexpr std::uint64_t kinds_plain_acquire = 20;
// With a number below it, a holder leaves the semaphore.
constexpr std::uint64_t kinds_leave = 12;

/// What a client does while it has a lock.
enum class holder_action : std::uint8_t {
  guarded_put,
  plain_put,
  acquire_again,
  remove_key,
  release_in_transaction,
  release,
};

constexpr share<holder_action> holder_actions[] = {
    {holder_action::guarded_put, 10},           {holder_action::plain_put, 3},
    {holder_action::acquire_again, 2},          {holder_action::remove_key, 1},
    {holder_action::release_in_transaction, 2}, {holder_action::release, 14},
};
static_assert(numbers_of(holder_actions) == kinds_max);

std::string id_of_session(std::size_t client, std::uint64_t number) {
  return uuid_of(static_cast<std::uint64_t>(client) << 32, number);
}

std::string joined(const std::vector<std::string>& holders) {
  std::string text;
  for (const auto& h : holders)
    text += (text.empty() ? "" : ",") + h;
  return text;
}

http::read_request reading(state::query q, http::consistency mode) {
  http::read_request r;
  r.query = std::move(q);
  r.mode = mode;
  return r;
}

} // namespace

lock_client::lock_client(std::size_t number, known_sessions& all, std::size_t client_agents)
    : number_(number), of_agent_(client_agents != 0 && number / 2 % 2 == 1), contends_(number % 2 == 1), all_(all),
      node_known_(of_agent_) {
  node_ = of_agent_ ? "agent-" + std::to_string(number % client_agents) : "m" + std::to_string(number % 2);
}

state::kv_op lock_client::op(kv_verb verb, std::string key, std::uint64_t fresh) const {
  auto o = op_with(fresh, verb, std::move(key));
  o.session = session_.id;
  return o;
}

lock_client::request lock_client::next(std::uint64_t drawn, std::uint64_t fresh, virtual_time now) {
  if (now < asleep_until_)
    return {};
  step_ = step::idle;
  const auto& node = node_;
  if (!node_known_ || (kind_part(drawn) == kind_check_fails && spare_part(drawn) % 8 == 0 && !of_agent_)) {
    node_known_ = !node_known_;
    return state::command(node_with_liveness(node, "10.0.0.1", node_known_ ? "passing" : "critical", fresh));
  }
  if (kind_part(drawn) == kind_deregister && spare_part(drawn) % 32 == 0 && !of_agent_) {
    node_known_ = false;
    return state::command(state::catalog_deregister{node, {}, spare_part(drawn) == 0 ? std::string() : "serfHealth"});
  }
  if (session_.id.empty())
    return create(drawn);
  const std::chrono::nanoseconds ttl(session_.ttl_ns);
  if (kind_part(drawn) == kind_oversleep && spare_part(drawn) % 4 == 0) { // pauses, without noticing it
    asleep_until_ = now + ttl * static_cast<std::int64_t>(1 + spare_part(drawn) / 4 % 3);
    return {};
  }
  if (auto due = renewal(now))
    return std::move(*due);
  if (kind_part(drawn) == kind_renew_early) {
    renewed_ = now;
    return session_renewal{session_.id};
  }
  if (kind_part(drawn) == kind_read_session)
    return reading(state::session_info{session_.id}, http::consistency::normal);
  if (kind_part(drawn) == kind_list_locks)
    return reading(state::kv_list{"l/"},
                   spare_part(drawn) % 2 == 0 ? http::consistency::normal : http::consistency::stale);
  if (kind_part(drawn) == kind_end_session && spare_part(drawn) % 2 == 0) {
    // Possibly another client's session, which continues until a response reveals it.
    const auto id = spare_part(drawn) % 4 == 0
                        ? session_.id
                        : all_[all_.size() - 1 - key_part(drawn) % std::min<std::size_t>(all_.size(), 8)];
    if (id == session_.id)
      forget_session();
    return state::command(state::session_destroy{{id}, "destroyed"});
  }
  if (contends_)
    return semaphore(drawn, fresh);
  return held_.empty() ? without_lock(drawn, fresh) : with_lock(drawn, fresh);
}

std::optional<session_renewal> lock_client::renewal(virtual_time now) {
  const std::chrono::nanoseconds ttl(session_.ttl_ns);
  if (session_.id.empty() || ttl == ttl.zero() || now - renewed_ <= ttl / 2)
    return std::nullopt;
  renewed_ = now;
  step_ = step::idle;
  return session_renewal{session_.id};
}

lock_client::request lock_client::create(std::uint64_t drawn) {
  constexpr std::int64_t ttls_s[] = {2, 3, 4, 2}, delays_ms[] = {0, 500, 3'000, 15'000};
  step_ = step::creating;
  session_ = {};
  session_.id = id_of_session(number_, ++sessions_);
  all_.push_back(session_.id);
  session_.node = node_;
  // Without a TTL it holds its locks until it is ended.
  session_.ttl_ns = spare_part(drawn) % 16 == 15 ? 0 : ttls_s[key_part(drawn) % 4] * 1'000'000'000;
  session_.ttl = std::to_string(session_.ttl_ns / 1'000'000'000) + "s";
  session_.lock_delay_ns = delays_ms[spare_part(drawn) % 4] * 1'000'000;
  session_.behavior = key_part(drawn) % 5 == 4 ? state::session_behavior::remove : state::session_behavior::release;
  session_.node_checks = std::vector<std::string>{"serfHealth"};
  return state::command(state::session_create{session_});
}

lock_client::request lock_client::without_lock(std::uint64_t drawn, std::uint64_t fresh) {
  step_ = step::acquiring;
  if (delay_left_ > delay_left_.zero() && spare_part(drawn) % 2 == 0)
    return acquire_later{state::kv_write{op(kv_verb::lock, wanted_, fresh)}, std::exchange(delay_left_, {})};
  wanted_ = spare_part(drawn) % 4 == 3 ? std::string(slot_prefix) + std::to_string(slot_++ % semaphore_limit)
                                       : "l/" + std::to_string(key_part(drawn) % 2);
  auto acquire = op(kv_verb::lock, wanted_, fresh);
  if (kind_part(drawn) < kinds_plain_acquire)
    return state::command(state::kv_write{std::move(acquire)});
  state::txn t;
  t.ops.push_back(std::move(acquire));
  t.ops.push_back(op(kv_verb::set, "g/" + wanted_, fresh));
  return state::command(std::move(t));
}

lock_client::request lock_client::with_lock(std::uint64_t drawn, std::uint64_t fresh) {
  const auto plain = [&](kv_verb verb) {
    auto o = op(verb, held_, fresh);
    o.session.clear();
    return o;
  };
  switch (action_of(holder_actions, kind_part(drawn))) {
  case holder_action::guarded_put: { // fails if the lock is lost
    state::txn t;
    t.ops.push_back(op(kv_verb::check_session, held_, fresh));
    t.ops.push_back(op(kv_verb::set, "g/" + held_, fresh));
    return state::command(std::move(t));
  }
  case holder_action::plain_put:
    return state::command(state::kv_write{plain(kv_verb::set)});
  case holder_action::acquire_again:
    return state::command(state::kv_write{op(kv_verb::lock, held_, fresh)});
  case holder_action::remove_key: {
    auto o = plain(kv_verb::remove);
    o.value = make_payload({});
    return state::command(state::kv_write{std::move(o)});
  }
  case holder_action::release_in_transaction: {
    step_ = step::releasing;
    state::txn t;
    t.ops.push_back(op(kv_verb::unlock, held_, fresh));
    return state::command(std::move(t));
  }
  case holder_action::release:
    break;
  }
  step_ = step::releasing;
  return state::command(state::kv_write{op(kv_verb::unlock, held_, fresh)});
}

lock_client::request lock_client::semaphore(std::uint64_t drawn, std::uint64_t fresh) {
  const auto prefix = std::string(semaphore_prefix);
  if (!entered_) {
    step_ = step::entering;
    return state::command(state::kv_write{op(kv_verb::lock, prefix + session_.id, fresh)});
  }
  if (!seen_) {
    step_ = step::listing;
    return reading(state::kv_list{prefix},
                   spare_part(drawn) % 2 == 0 ? http::consistency::normal : http::consistency::consistent);
  }
  seen_ = false;
  const bool leaves = holds_ && kind_part(drawn) < kinds_leave;
  if (holds_ ? !leaves : holders_.size() >= semaphore_limit)
    return {};
  auto next = holders_;
  std::erase(next, session_.id);
  if (!leaves)
    next.push_back(session_.id);
  step_ = leaves ? step::leaving : step::joining;
  auto o = op(kv_verb::cas, std::string(semaphore_key), fresh);
  o.value = make_payload(joined(next) + ";" + std::to_string(fresh)); // no two values are alike
  o.index = holders_at_;
  o.session.clear();
  return state::command(state::kv_write{std::move(o)});
}

void lock_client::forget_session() {
  session_ = {};
  held_.clear();
  entered_ = holds_ = seen_ = false;
}

void lock_client::learn(const operation& o) {
  if (o.renewal) {
    if (o.result == outcome::done && o.renewed == nullptr)
      forget_session();
    return;
  }
  if (o.read) {
    if (step_ == step::listing)
      learn_holders(o);
    return;
  }
  learn_write(o);
}

void lock_client::learn_write(const operation& o) {
  const auto* refused = std::get_if<state::refusal>(&o.reply);
  const auto* flag = std::get_if<bool>(&o.reply);
  const auto* txn = std::get_if<state::txn_reply>(&o.reply);
  const bool done = o.result == outcome::done && !refused;
  const bool granted = done && ((flag && *flag) || (txn && txn->errors.empty()));
  switch (step_) {
  case step::creating:
    if (!done) { // if it exists, it ends by its TTL
      forget_session();
      // Only the leader writes the health of an agent's node.
      node_known_ = node_known_ && (refused == nullptr || of_agent_);
    } else {
      renewed_ = o.invoked;
    }
    break;
  case step::acquiring:
    if (granted)
      held_ = wanted_;
    delay_left_ = done && o.reply.note.why == state::refused_for::lock_delay ? milliseconds(o.reply.note.retry_after_ms)
                                                                             : virtual_time::zero();
    break;
  case step::releasing:
    held_.clear();
    break;
  case step::entering:
    entered_ = granted;
    break;
  case step::joining:
    holds_ = granted;
    break;
  case step::leaving:
    holds_ = holds_ && !granted;
    break;
  default:
    if (txn && !txn->errors.empty()) // what was guarded is not written: the lock is lost
      held_.clear();
    break;
  }
  if (refused && refused->text.starts_with("invalid session"))
    forget_session();
}

void lock_client::learn_holders(const operation& o) {
  const auto* found = o.answer ? std::get_if<state::kv_entries>(&o.answer->data) : nullptr;
  seen_ = found != nullptr;
  if (!seen_)
    return;
  holders_.clear();
  holders_at_ = {};
  std::set<std::string> contending;
  for (const auto& e : found->entries) {
    if (e->key == semaphore_key) {
      holders_ = holders_in(*e->value);
      holders_at_ = e->modify_index;
    } else if (!e->session.empty() && e->key == std::string(semaphore_prefix) + std::string(e->session)) {
      contending.emplace(e->session);
    }
  }
  // Sessions that have ended hold nothing.
  std::erase_if(holders_, [&](const std::string& h) { return !contending.contains(h); });
  if (!contending.contains(session_.id))
    entered_ = holds_ = seen_ = false;
}

} // namespace belay::sim
