#include "sim/clients/claims_client.hpp"

#include "protocol/base/overloaded.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/base/uuid.hpp"
#include "sim/chance/drawn_parts.hpp"
#include "sim/clients/client_commands.hpp"

#include <algorithm>

namespace belay::sim {

using state::claim_kind;
using state::kv_verb;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

// Above those of clients that acquire locks, so that session ids are unique.
constexpr std::uint64_t first_session_number = 1'000;
constexpr std::size_t claims_max = 4; ///< limit for one client at once
constexpr std::size_t over_max = 8;
constexpr std::string_view guarded_prefix = "gd/";

/// The kinds of requests.
enum class claims_action : std::uint8_t {
  ask,
  on_one, ///< one of its claims: repeat, release, transfer, ...
  on_key, ///< queues of keys' locks
  on_guarded,
  look,
  ask_for_ended,
  let_go_first, ///< releases an id and requests it afterwards
  limit,
  renew,
  oversleep,
  check_fails,
  end_session,
};

constexpr share<claims_action> claims_actions[] = {
    {claims_action::ask, 7},          {claims_action::on_one, 7},      {claims_action::on_key, 5},
    {claims_action::on_guarded, 3},   {claims_action::look, 2},        {claims_action::ask_for_ended, 1},
    {claims_action::let_go_first, 1}, {claims_action::limit, 2},       {claims_action::renew, 1},
    {claims_action::oversleep, 1},    {claims_action::check_fails, 1}, {claims_action::end_session, 1},
};
static_assert(numbers_of(claims_actions) == kinds_max);

struct shape {
  const char* name;
  claim_kind kind;
};
constexpr shape shapes[] = {
    {"a", claim_kind::lock},     {"b", claim_kind::lock},        {"r", claim_kind::rw},
    {"r", claim_kind::rw},       {"s/3", claim_kind::semaphore}, {"s/3", claim_kind::semaphore},
    {"e", claim_kind::election}, {"a", claim_kind::rw}, // sometimes of another kind
};
constexpr std::uint64_t claimed_permits_max = 3;
constexpr auto semaphore = "s/3";

constexpr milliseconds waits[] = {milliseconds(0), milliseconds(300), milliseconds(2'000), milliseconds(6'000)};

// Longer than a position is kept (docs/reference/claims.md, rule 24), and than the server takes to notice.
constexpr milliseconds left_wait{15'000}, kept_wait{8'000}, away_for{8'000};
// Its holder keeps it until its session ends, so a waiter is withdrawn before it gets a grant.
constexpr auto kept_key = "kept/0";

std::string guarded_key(std::uint64_t n) {
  return std::string(guarded_prefix) + std::to_string(n % 2);
}

} // namespace

claims_client::claims_client(std::size_t number) : number_(number), node_("c" + std::to_string(number % 2)) {}

claims_client::request claims_client::next(std::uint64_t drawn, std::uint64_t fresh, virtual_time now) {
  now_ = now;
  if (now < asleep_until_)
    return {};
  auto action = action_of(claims_actions, kind_part(drawn));
  if (now < away_until_ && (action == claims_action::check_fails || action == claims_action::oversleep ||
                            action == claims_action::end_session)) // its session must outlive its queue position
    action = claims_action::renew;
  if (!node_known_ || (action == claims_action::check_fails && spare_part(drawn) % 8 == 0)) {
    node_known_ = !node_known_;
    return asking{node_with_liveness(node_, "10.0.0.2", node_known_ ? "passing" : "critical", fresh)};
  }
  if (session_.id.empty())
    return create(drawn, fresh);
  const nanoseconds ttl(session_.ttl_ns);
  if (ttl > ttl.zero() && now - renewed_ > ttl / 3)
    return renewal(drawn, now);
  if (back_at_ != virtual_time{0} && now >= back_at_) {
    PROBE("clients: who ended the connection while it waited for a lock asks again");
    back_at_ = {};
    state::kv_acquire again;
    again.op = op_with(fresh, kv_verb::lock, kept_key);
    again.op.session = session_.id;
    again.wait_ms = 1'000;
    return asking{std::move(again), milliseconds(1'000)};
  }
  switch (action) {
  case claims_action::ask:
    return claims_.size() < claims_max ? ask(drawn) : on_one(drawn);
  case claims_action::on_one:
    return claims_.empty() ? ask(drawn) : on_one(drawn);
  case claims_action::on_key:
    return on_key(drawn, fresh);
  case claims_action::on_guarded:
    return on_guarded(drawn, fresh);
  case claims_action::look:
    return look(drawn);
  case claims_action::ask_for_ended:
    if (over_.empty())
      return {};
    if (long_ago_.oldest(now) != nullptr) {
      PROBE("claims: an id whose end is forgotten is asked for again");
      auto again = long_ago_.take();
      again.session = session_.id;
      claims_.push_back({again, 0, {}});
      return asking{std::move(again), waits[spare_part(drawn) % 2]};
    }
    return asking{over_[key_part(drawn) % over_.size()], waits[spare_part(drawn) % 2]};
  case claims_action::let_go_first: {
    auto later = fresh_ask(drawn);
    over_.push_back(later);
    return asking{state::claim_release{later.name, later.id}};
  }
  case claims_action::limit:
    if (spare_part(drawn) % 2 == 0)
      return asking{state::claim_limit_set{semaphore, 1 + key_part(drawn) % 4}};
    return asking{state::claim_limit_unset{semaphore}};
  case claims_action::oversleep:
    if (spare_part(drawn) % 4 == 0)
      asleep_until_ =
          now + std::max<nanoseconds>(ttl, milliseconds(500)) * static_cast<int>(1 + spare_part(drawn) / 4 % 3);
    return {};
  case claims_action::end_session:
    if (spare_part(drawn) % 2 == 0) {
      const auto id = session_.id;
      forget_session();
      return asking{state::session_destroy{{id}, "destroyed"}};
    }
    return {};
  case claims_action::renew:
  case claims_action::check_fails:
    break;
  }
  return renewal(drawn, now);
}

claims_client::request claims_client::look(std::uint64_t drawn) {
  constexpr http::consistency modes[] = {http::consistency::normal, http::consistency::stale,
                                         http::consistency::consistent};
  http::read_request r;
  r.mode = modes[node_part(drawn) % std::size(modes)];
  switch (spare_part(drawn) % 8) {
  case 0:
    r.query = state::guards_list{};
    break;
  case 1: // the previous one
    r.query = state::session_ended{uuid_of((first_session_number + number_) << 32, sessions_ - 1)};
    break;
  case 2:
  case 3:
    r.query = state::claim_read{{"q/" + std::to_string(key_part(drawn) % 2), state::claim_space::keys}};
    break;
  default:
    if (seen_index_ == 0 || spare_part(drawn) % 8 == 4) {
      looked_at_ = shapes[key_part(drawn) % std::size(shapes)].name;
    } else {
      r.min_index = seen_index_;
      r.wait = milliseconds(1'000);
    }
    r.query = state::claim_read{{looked_at_}};
  }
  return r;
}

claims_client::request claims_client::renewal(std::uint64_t drawn, virtual_time now) {
  renewed_ = now;
  session_renewal r{session_.id};
  if (pause_part(drawn) % 3 == 0)
    r.beside.push_back(uuid_of((first_session_number + number_) << 32, 0));
  return r;
}

claims_client::request claims_client::create(std::uint64_t drawn, std::uint64_t fresh) {
  constexpr std::int64_t ttls_ms[] = {2'000, 3'000, 1'000, 4'000}, delays_ms[] = {0, 400, 2'000, 0};
  session_ = {};
  session_.id = uuid_of((first_session_number + number_) << 32, ++sessions_);
  session_.node = node_;
  const bool exact = spare_part(drawn) % 3 == 0;
  // Without a TTL it holds its locks until it is ended.
  session_.ttl_ns = !exact && spare_part(drawn) % 16 == 15 ? 0 : ttls_ms[key_part(drawn) % 4] * 1'000'000;
  if (!exact) // sessions as in Consul have at least a second here
    session_.ttl_ns = session_.ttl_ns == 1'000'000'000 ? 2'000'000'000 : session_.ttl_ns;
  session_.ttl = std::to_string(session_.ttl_ns / 1'000'000) + "ms";
  session_.lock_delay_ns = delays_ms[spare_part(drawn) / 3 % 4] * 1'000'000;
  session_.behavior = key_part(drawn) % 5 == 4 ? state::session_behavior::remove : state::session_behavior::release;
  session_.node_checks = std::vector<std::string>{"serfHealth"};
  const bool leaves = node_part(drawn) % 3 == 0;
  if (!exact && !leaves)
    return asking{state::session_create{session_}};
  state::session_begin begin;
  begin.session = session_;
  begin.ttl_mode = exact ? state::session_ttl_mode::exact : state::session_ttl_mode::lower_bound;
  if (leaves) {
    const auto add = [&](kv_verb verb, std::string key) {
      auto o = op_with(fresh, verb, std::move(key));
      if (verb != kv_verb::set && verb != kv_verb::cas) {
        o.value = make_payload({});
        o.flags = 0;
      }
      begin.on_end.push_back(std::move(o));
    };
    add(kv_verb::set, "left/" + std::to_string(number_));
    add(kv_verb::cas, "left/" + std::to_string(number_)); // with index 0: the key exists already
    if (key_part(drawn) % 2 == 0)
      add(kv_verb::set, guarded_key(key_part(drawn)));
    if (key_part(drawn) % 3 == 0)
      add(kv_verb::remove, "q/" + std::to_string(key_part(drawn) % 2));
    if (key_part(drawn) % 7 == 0)
      add(kv_verb::remove_tree, "left/");
  }
  return asking{std::move(begin)};
}

state::claim_ask claims_client::fresh_ask(std::uint64_t drawn) {
  const auto& s = shapes[key_part(drawn) % std::size(shapes)];
  state::claim_ask a;
  a.name = s.name;
  a.session = session_.id;
  a.id = "c" + std::to_string(number_) + "-" + std::to_string(++ids_);
  a.value = make_payload(a.id);
  if (spare_part(drawn) % 4 != 3)
    a.kind = s.kind;
  if (s.kind == claim_kind::semaphore) {
    a.limit = claimed_permits_max;
    if (pause_part(drawn) % 2 == 0)
      a.permits = 1 + pause_part(drawn) / 2 % claimed_permits_max;
  }
  if (s.kind == claim_kind::rw && pause_part(drawn) % 3 != 0)
    a.mode = state::claim_mode::shared;
  a.priority = pause_part(drawn) % 5 == 4 ? pause_part(drawn) : 0;
  if (spare_part(drawn) % 5 == 4)
    a.deadline_ms = 200 + node_part(drawn) * 4;
  a.refuse_deadlock = spare_part(drawn) % 2 == 1;
  return a;
}

claims_client::request claims_client::ask(std::uint64_t drawn) {
  auto a = fresh_ask(drawn);
  claims_.push_back({a, 0, {}});
  return asking{std::move(a), waits[node_part(drawn) / 8 % std::size(waits)]};
}

claims_client::request claims_client::on_one(std::uint64_t drawn) {
  const auto& c = claims_[key_part(drawn) % claims_.size()];
  const auto& a = c.requested;
  switch (spare_part(drawn) % 8) {
  case 0:
  case 1: // the same again: after an unknown outcome, or to continue waiting
    return asking{a, waits[pause_part(drawn) % std::size(waits)]};
  case 2: {
    std::string to = c.behind.empty() || pause_part(drawn) % 2 == 0 ? std::string() : c.behind.back();
    if (to.empty() && pause_part(drawn) % 3 == 0 && claims_.size() > 1)
      to = claims_.back().requested.id;
    return asking{state::claim_transfer{a.name, a.id, std::move(to)}};
  }
  case 3:
    return asking{state::claim_mode_set{
        a.name, a.id, pause_part(drawn) % 4 == 0 ? state::claim_mode::exclusive : state::claim_mode::shared}};
  default: {
    const state::claim_release r{a.name, a.id};
    drop(r.name, r.id);
    return asking{r};
  }
  }
}

/// A request about a key whose lock others queue for: a plain acquire, a write, a delete, a
/// release, or an acquire that queues.
claims_client::request claims_client::on_key(std::uint64_t drawn, std::uint64_t fresh) {
  if (key_.empty() || key_part(drawn) % 16 == 0)
    key_ = "q/" + std::to_string(key_part(drawn) / 16 % 2);
  auto o = op_with(fresh, kv_verb::lock, key_);
  o.session = session_.id;
  switch (spare_part(drawn) % 8) {
  case 0:
    return asking{state::kv_write{std::move(o)}};
  case 1:
    o.session.clear();
    o.verb = kv_verb::set;
    return asking{state::kv_write{std::move(o)}};
  case 2:
    o.session.clear();
    o.verb = pause_part(drawn) % 4 == 0 ? kv_verb::remove_tree : kv_verb::remove;
    o.key = o.verb == kv_verb::remove_tree ? "q/" : key_;
    o.value = nullptr;
    o.flags = 0;
    return asking{state::kv_write{std::move(o)}};
  case 3:
  case 4:
    o.verb = kv_verb::unlock;
    key_fence_ = 0;
    if (pause_part(drawn) % 4 == 0) { // free for a moment in which no client may overtake the queue
      state::txn t;
      t.ops.push_back(o);
      o.verb = kv_verb::lock;
      t.ops.push_back(std::move(o));
      return asking{std::move(t)};
    }
    return asking{state::kv_write{std::move(o)}};
  default:
    break;
  }
  state::kv_acquire a;
  a.op = std::move(o);
  const auto wait = waits[1 + pause_part(drawn) % 3];
  a.wait_ms = static_cast<std::uint64_t>(wait.count());
  a.refuse_deadlock = spare_part(drawn) % 8 == 5;
  if (pause_part(drawn) / 4 % 4 == 0 && now_ >= away_until_)
    return leave(drawn, std::move(a));
  return asking{std::move(a), wait};
}

/// An acquire whose client mostly disconnects soon. Then it stays away longer than its position is
/// kept, or retries.
claims_client::request claims_client::leave(std::uint64_t drawn, state::kv_acquire a) {
  a.op.key = kept_key;
  a.refuse_deadlock = false;
  const bool stays = spare_part(drawn) / 8 % 4 == 0; // its agent or its server may end meanwhile
  const auto wait = stays ? kept_wait : left_wait;
  a.wait_ms = static_cast<std::uint64_t>(wait.count());
  away_until_ = now_ + away_for;
  if (stays)
    return asking{std::move(a), wait};
  back_at_ =
      node_part(drawn) % 3 == 0 ? now_ + milliseconds(1'000 + 100 * (node_part(drawn) / 3 % 40)) : virtual_time{0};
  return asking{std::move(a), wait, milliseconds(50 + 10 * (pause_part(drawn) / 16 * 4))};
}

claims_client::request claims_client::on_guarded(std::uint64_t drawn, std::uint64_t fresh) {
  const state::resource_name guarding{pause_part(drawn) / 4 % 2 == 0 ? "a" : "r"},
      lock{"q/0", state::claim_space::keys};
  const auto* mine = find(guarding.name, {});
  state::fence_ref fence{guarding, mine != nullptr && mine->fence != 0 ? mine->fence : 1 + key_part(drawn)};
  if (key_fence_ != 0 && key_ == lock.name && pause_part(drawn) % 2 == 0)
    fence = {lock, key_fence_};
  auto o = op_with(fresh, kv_verb::set, guarded_key(key_part(drawn)));
  switch (spare_part(drawn) % 8) {
  case 0:
    return asking{state::guard_set{std::string(guarded_prefix), pause_part(drawn) % 4 == 0 ? lock : guarding}};
  case 1:
    return asking{state::guard_remove{std::string(guarded_prefix), pause_part(drawn) % 2 == 0 ? 0 : fence.fence}};
  case 2:
    return asking{state::kv_write{std::move(o)}};
  case 3: {
    o.verb = kv_verb::remove_tree;
    o.key = pause_part(drawn) % 2 == 0 ? "g" : "gd/1";
    o.value = nullptr;
    o.flags = 0;
    return asking{state::kv_write{std::move(o)}};
  }
  case 4:
  case 5: {
    state::fenced_txn t;
    t.body.ops.push_back(state::fence_op{fence});
    t.body.ops.push_back(std::move(o));
    t.body.ops.push_back(op_with(fresh, kv_verb::set, "left/x"));
    return asking{std::move(t)};
  }
  default:
    return asking{state::fenced_write{std::move(o), fence}};
  }
}

// ---- responses

claims_client::claim* claims_client::find(const std::string& name, const std::string& id) {
  const auto it = std::find_if(claims_.begin(), claims_.end(), [&](const claim& c) {
    return c.requested.name == name && (id.empty() || c.requested.id == id);
  });
  return it == claims_.end() ? nullptr : &*it;
}

void claims_client::drop(const std::string& name, const std::string& id) {
  const auto it = std::find_if(claims_.begin(), claims_.end(),
                               [&](const claim& c) { return c.requested.name == name && c.requested.id == id; });
  if (it == claims_.end())
    return;
  over_.push_back(it->requested);
  long_ago_.offer(it->requested, now_);
  if (over_.size() > over_max)
    over_.erase(over_.begin());
  claims_.erase(it);
}

void claims_client::forget_session() {
  while (!claims_.empty())
    drop(claims_.back().requested.name, std::string(claims_.back().requested.id));
  session_ = {};
  key_.clear();
  key_fence_ = 0;
  back_at_ = away_until_ = {};
}

void claims_client::learn(const operation& o) {
  if (o.renewal) {
    if (o.result == outcome::done && o.renewed == nullptr)
      forget_session();
    return;
  }
  const auto* read = o.read ? std::get_if<state::claim_read>(&o.read->query) : nullptr;
  if (read != nullptr && read->of == state::resource_name{looked_at_})
    seen_index_ = o.answer ? o.answer->index.value : 0;
  if (!o.write)
    return;
  const auto* no = std::get_if<state::claim_refusal>(&o.reply);
  const auto* claim = std::get_if<state::claim_answer>(&o.reply);
  const auto* refused = std::get_if<state::refusal>(&o.reply);
  if (o.result == outcome::done && no != nullptr && no->why == state::claim_error::unknown_session)
    return forget_session();
  const auto made = [&] {
    if (o.result != outcome::done || refused != nullptr) {
      forget_session();
      node_known_ = node_known_ && refused == nullptr;
    } else {
      renewed_ = o.invoked;
    }
  };
  std::visit(overloaded{
                 [&](const state::session_create&) { made(); },
                 [&](const state::session_begin&) { made(); },
                 [&](const state::claim_ask& a) {
                   auto* mine = find(a.name, a.id);
                   if (mine == nullptr)
                     return;
                   if (no != nullptr)
                     return drop(a.name, a.id);
                   if (claim == nullptr)
                     return;
                   mine->fence = claim->fence;
                   mine->behind.clear();
                   for (const auto& each : claim->ahead)
                     mine->behind.push_back(each.id);
                 },
                 [&](const state::claim_transfer& h) {
                   if (claim != nullptr)
                     drop(h.name, h.id);
                 },
                 [&](const state::kv_acquire&) {
                   const auto* yes = std::get_if<bool>(&o.reply);
                   key_fence_ = yes != nullptr && *yes ? o.reply.note.fence : 0;
                 },
                 [](const auto&) {},
             },
             static_cast<const state::plain_command&>(*o.write));
}

} // namespace belay::sim
