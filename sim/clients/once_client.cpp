#include "sim/clients/once_client.hpp"

#include "protocol/base/probe.hpp"
#include "protocol/base/uuid.hpp"
#include "sim/chance/drawn_parts.hpp"
#include "sim/clients/client_commands.hpp"

#include <algorithm>
#include <utility>

namespace belay::sim {

using state::kv_verb;

namespace {

constexpr std::size_t sent_max = 6;
constexpr auto plain_key = "o/plain";
/// Locked by one of these clients at a time.
constexpr auto locked_key = "o/lock";
/// The node on which these clients' sessions depend.
constexpr auto node_name = "once";
/// Ids of sessions: above those of lock_client.cpp and claims_client.cpp.
constexpr std::uint64_t first_session_owner = 2'000;

/// The kinds of requests.
enum class once_action : std::uint8_t {
  write,
  repeat,
  seal,
  seal_first, ///< and send the write afterwards
  use_for_other,
  look,
  read_counter,
  read_plain,
  end_session,
};

constexpr share<once_action> once_actions[] = {
    {once_action::write, 9},        {once_action::repeat, 10},       {once_action::seal, 3},
    {once_action::seal_first, 1},   {once_action::use_for_other, 2}, {once_action::look, 3},
    {once_action::read_counter, 2}, {once_action::read_plain, 1},    {once_action::end_session, 1},
};
static_assert(numbers_of(once_actions) == kinds_max);

std::string counter(std::uint64_t n) {
  return "o/n" + std::to_string(n % 2);
}

state::kv_op adding(std::uint64_t drawn) {
  state::kv_op o;
  o.verb = kv_verb::add;
  o.key = counter(node_part(drawn));
  o.value = make_payload({});
  o.amount = static_cast<std::int64_t>(pause_part(drawn) % 7) - 2;
  if (spare_part(drawn) % 3 == 0)
    o.max = 10;
  if (spare_part(drawn) % 4 == 0)
    o.min = 0;
  if (spare_part(drawn) % 16 == 9) // to the largest number, and beyond it the next time
    o.amount = INT64_MAX - 20;
  return o;
}

} // namespace

std::optional<state::command> once_client::prepare(std::uint64_t fresh) {
  if (!node_known_) {
    node_known_ = true;
    return state::command(node_with_liveness(node_name, "10.0.0.3", "passing", fresh));
  }
  if (!session_.empty())
    return std::nullopt;
  creating_ = true;
  session_ = uuid_of((first_session_owner + number_) << 32, ++sessions_);
  state::session_record s;
  s.id = session_;
  s.node = node_name;
  s.ttl = "0s"; // its locks are held until it ends it, also across restarts
  s.node_checks = std::vector<std::string>{"serfHealth"};
  return state::command(state::session_create{s});
}

/// All kinds of operations that show a row, each with locked rows.
state::plain_command once_client::with_locks(std::uint64_t drawn, std::uint64_t fresh) const {
  const auto on = [&](kv_verb verb, std::string key) {
    auto o = op_with(fresh, verb, std::move(key));
    o.session = session_;
    return o;
  };
  const auto plain = [&](kv_verb verb, std::string key) {
    auto o = on(verb, std::move(key));
    o.session.clear();
    return o;
  };
  const auto slot = "o/slot" + std::to_string(number_); // no other client locks it
  switch (pause_part(drawn) % 6) {
  case 0:
    return state::txn{{on(kv_verb::lock, locked_key), plain(kv_verb::get, locked_key), adding(drawn)}};
  case 1:
    return state::txn{{on(kv_verb::check_session, locked_key), plain(kv_verb::set, locked_key)}};
  case 2:
    return state::txn{{on(kv_verb::lock, slot), plain(kv_verb::get_tree, "o/slot")}};
  case 3: {
    auto cas = plain(kv_verb::cas, plain_key);
    cas.index = seen_at_;
    return state::txn{{plain(kv_verb::get, locked_key), std::move(cas)}};
  }
  case 4:
    return state::txn{{on(kv_verb::unlock, locked_key), plain(kv_verb::get, slot)}};
  default:
    return state::txn{{on(kv_verb::lock, slot), on(kv_verb::unlock, slot), on(kv_verb::lock, locked_key)}};
  }
}

state::plain_command once_client::some_write(std::uint64_t drawn, std::uint64_t fresh) const {
  if (!session_.empty() && spare_part(drawn) % 3 == 1)
    return with_locks(drawn, fresh);
  const auto on = [&](kv_verb verb, std::string key) {
    auto o = op_with(fresh, verb, std::move(key));
    if (verb == kv_verb::cas)
      o.index = seen_at_;
    return o;
  };
  switch (key_part(drawn) % 10) {
  case 0:
    return state::kv_write{on(kv_verb::set, plain_key)};
  case 1:
  case 2:
    return state::kv_write{on(kv_verb::cas, plain_key)};
  case 3:
    return state::kv_write{on(kv_verb::remove, plain_key)};
  case 4:
    return state::txn{{adding(drawn), on(kv_verb::set, plain_key)}};
  case 5:
    return state::txn{{on(kv_verb::cas, plain_key), adding(drawn)}};
  case 6: {
    auto o = on(kv_verb::set, counter(node_part(drawn)));
    o.value = make_payload(pause_part(drawn) % 4 == 0 ? "none" : std::to_string(pause_part(drawn)));
    return state::kv_write{std::move(o)};
  }
  default:
    return state::kv_write{adding(drawn)};
  }
}

state::command once_client::new_write(std::uint64_t drawn, std::uint64_t fresh) {
  state::command c;
  static_cast<state::plain_command&>(c) = some_write(drawn, fresh);
  // Sometimes a key that others use, too.
  auto key = spare_part(drawn) % 16 == 5 ? "all-" + std::to_string(fresh / 64)
                                         : std::to_string(number_) + "-" + std::to_string(++keys_);
  c.once = state::once_request{std::move(key), {}, {}};
  sent_.push_back(c);
  if (sent_.size() > sent_max)
    sent_.pop_front();
  long_ago_.offer(c, now_);
  return c;
}

const state::command& once_client::sent(std::uint64_t drawn) const {
  if (const auto* forgotten = long_ago_.oldest(now_); forgotten != nullptr && node_part(drawn) % 4 == 1) {
    PROBE("once: a write whose outcome is forgotten is named again");
    return *forgotten;
  }
  const auto back = key_part(drawn) % 3 == 0 ? node_part(drawn) % sent_.size() : 0;
  return sent_[sent_.size() - 1 - back];
}

once_client::request once_client::next(std::uint64_t drawn, std::uint64_t fresh, virtual_time now) {
  now_ = now;
  if (long_ago_.oldest(now) != nullptr && pause_part(drawn) % 4 == 1)
    long_ago_.take();
  const auto read = [](state::query q) {
    http::read_request r;
    r.query = std::move(q);
    r.mode = http::consistency::consistent;
    return r;
  };
  // Not each time: with ACLs in force it may never get one.
  if (spare_part(drawn) % 4 == 2)
    if (auto first = prepare(fresh))
      return std::move(*first);
  const auto action = action_of(once_actions, kind_part(drawn));
  if (action == once_action::end_session && !session_.empty())
    return state::command(state::session_destroy{{std::exchange(session_, {})}, "destroyed"});
  if (sent_.empty() || action == once_action::write)
    return new_write(drawn, fresh);
  switch (action) {
  case once_action::repeat:
    return sent(drawn);
  case once_action::seal:
    return state::command{state::outcome_seal{sent(drawn).once->key, {}}};
  case once_action::seal_first:
    return state::command{state::outcome_seal{new_write(drawn, fresh).once->key, {}}};
  case once_action::use_for_other: {
    state::command c;
    static_cast<state::plain_command&>(c) = some_write(drawn, fresh);
    c.once = sent(drawn).once;
    return c;
  }
  case once_action::look:
    return read(state::outcome_read{sent(drawn).once->key});
  case once_action::read_counter:
    return read(state::kv_get{counter(node_part(drawn))});
  default:
    return read(state::kv_get{plain_key});
  }
}

void once_client::learn(const operation& o) {
  const auto* refused = std::get_if<state::refusal>(&o.reply);
  if (std::exchange(creating_, false) && (o.result != outcome::done || refused != nullptr)) {
    session_.clear(); // if it exists, it holds nothing
    node_known_ = o.result != outcome::done;
  }
  if (const auto* t = std::get_if<state::txn_reply>(&o.reply); t != nullptr && o.write && o.write->once) {
    const bool locked = std::any_of(t->results.begin(), t->results.end(), [](const state::txn_result& r) {
      const auto* row = std::get_if<state::kv_entry_ptr>(&r.row);
      return row != nullptr && *row && !(*row)->session.empty();
    });
    if (locked)
      PROBE("once: an answer that is kept has the row of a locked key");
    const bool lost = std::any_of(t->errors.begin(), t->errors.end(), [](const state::txn_error& e) {
      return e.what.find("invalid session") != std::string::npos;
    });
    if (lost) // a restore, or its node, has ended it
      session_.clear();
  }
  const auto* requested = o.read ? std::get_if<state::kv_get>(&o.read->query) : nullptr;
  const auto* found = o.answer ? std::get_if<state::kv_entries>(&o.answer->data) : nullptr;
  if (requested != nullptr && requested->key == plain_key && found != nullptr)
    seen_at_ = found->entries.empty() ? log_index{} : found->entries.front()->modify_index;
}

} // namespace belay::sim
