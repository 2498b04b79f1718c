#include "sim/clients/once_client.hpp"

#include "sim/chance/drawn_parts.hpp"
#include "sim/clients/client_commands.hpp"

namespace belay::sim {

using state::kv_verb;

namespace {

constexpr std::size_t sent_max = 6;
constexpr auto plain_key = "o/plain";

/// What a client does with its turn.
enum class once_action : std::uint8_t {
  write,
  repeat,
  seal,
  seal_first, ///< and send it afterwards
  use_for_other,
  look,
  read_counter,
  read_plain,
};

constexpr share<once_action> once_actions[] = {
    {once_action::write, 9},        {once_action::repeat, 10},       {once_action::seal, 3},
    {once_action::seal_first, 1},   {once_action::use_for_other, 2}, {once_action::look, 3},
    {once_action::read_counter, 2}, {once_action::read_plain, 2},
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
  if (spare_part(drawn) % 16 == 9) // to the end of the numbers, and beyond it the next time
    o.amount = INT64_MAX - 20;
  return o;
}

} // namespace

state::plain_command once_client::some_write(std::uint64_t drawn, std::uint64_t fresh) const {
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
  // Now and then a key that others use, too.
  auto key = spare_part(drawn) % 16 == 5 ? "all-" + std::to_string(fresh / 64)
                                         : std::to_string(number_) + "-" + std::to_string(++keys_);
  c.once = state::once_mark{std::move(key), {}, {}};
  sent_.push_back(c);
  if (sent_.size() > sent_max)
    sent_.pop_front();
  return c;
}

const state::command& once_client::sent(std::uint64_t drawn) const {
  const auto back = key_part(drawn) % 3 == 0 ? node_part(drawn) % sent_.size() : 0;
  return sent_[sent_.size() - 1 - back];
}

once_client::request once_client::next(std::uint64_t drawn, std::uint64_t fresh) {
  const auto read = [](state::query q) {
    http::read_request r;
    r.query = std::move(q);
    r.mode = http::consistency::consistent;
    return r;
  };
  const auto action = action_of(once_actions, kind_part(drawn));
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
  const auto* asked = o.read ? std::get_if<state::kv_get>(&o.read->query) : nullptr;
  const auto* found = o.answer ? std::get_if<state::kv_entries>(&o.answer->data) : nullptr;
  if (asked != nullptr && asked->key == plain_key && found != nullptr)
    seen_at_ = found->entries.empty() ? log_index{} : found->entries.front()->modify_index;
}

} // namespace belay::sim
