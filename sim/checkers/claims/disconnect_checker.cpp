#include "sim/checkers/claims/disconnect_checker.hpp"

#include "protocol/base/probe.hpp"
#include "protocol/wire/command_codec.hpp"
#include "sim/record/text_rendering.hpp"

#include <algorithm>

namespace belay::sim {

namespace {

constexpr std::chrono::seconds kept_for{5};
// After the disconnect: clocks 1.6 times too slow, the gateway's tick, and a repeated proposal.
constexpr std::chrono::seconds gone_after{15};

const state::kv_acquire* waiting_acquire(const state::command& c) {
  const auto* a = std::get_if<state::kv_acquire>(&c);
  return a != nullptr && a->wait_ms != 0 ? a : nullptr;
}

} // namespace

void disconnect_checker::begun(const operation& op) {
  const auto* a = op.write ? waiting_acquire(*op.write) : nullptr;
  if (a != nullptr && a->op.flags == op.id)
    requests_[op.id] = {a->op.key, a->op.session, op.node, op.node_life, op.through_agent};
}

void disconnect_checker::left(const operation& op, virtual_time now, clocks shown) {
  const auto it = requests_.find(op.id);
  if (it == requests_.end())
    return;
  it->second.left = true;
  it->second.left_at = now;
  it->second.shown = std::move(shown);
}

broken disconnect_checker::committed(const raft::entry& e, const clocks& shown) {
  const auto c = e.kind == raft::entry_kind::command ? wire::decode_command(*e.data) : std::nullopt;
  if (!c)
    return std::nullopt;
  if (const auto* a = waiting_acquire(*c); a != nullptr && requests_.contains(a->op.flags))
    requested_at_[e.index] = a->op.flags;
  if (const auto* withdrawal = std::get_if<state::waits_withdraw>(&*c))
    for (const auto& w : withdrawal->waits)
      if (auto wrong = check(w, shown))
        return "entry " + to_string(e.index) + " withdraws the wait of " + w.session + " for " + w.key +
               ", requested by entry " + to_string(w.requested_at) + ": " + *wrong;
  return std::nullopt;
}

broken disconnect_checker::check(const state::wait_ref& w, const clocks& shown) const {
  const auto requested = requested_at_.find(w.requested_at);
  if (requested == requested_at_.end()) // the request of a library client, or an entry restored from an archive
    return std::nullopt;
  const auto& r = requests_.at(requested->second);
  const auto operation = "operation " + std::to_string(requested->second);
  if (r.key != w.key || r.session != w.session)
    return operation + " asked for " + r.key + " with session " + r.session;
  if (!r.left)
    return "the client of " + operation + " did not disconnect";
  PROBE("claims: a withdrawal is judged");
  const auto gone_by = [&](std::size_t node) { return shown[node] - r.shown[node] >= kept_for; };
  bool late_enough = !r.through_agent && gone_by(r.node);
  for (std::size_t node = 0; node < shown.size() && r.through_agent; ++node)
    late_enough = late_enough || gone_by(node);
  return late_enough ? broken()
                     : "the client of " + operation + " disconnected less than 5 s before, at " + in_seconds(r.left_at);
}

broken disconnect_checker::finish(virtual_time now,
                                  const std::function<bool(std::size_t node, int life)>& works) const {
  const auto there = model_.claims_at(model_.applied());
  for (const auto& [index, id] : requested_at_) {
    const auto& r = requests_.at(id);
    if (!r.left || r.through_agent || now < std::max(r.left_at, led_) + gone_after || !works(r.node, r.life))
      continue;
    const auto* c = there->find({r.key, state::claim_space::keys}, r.session);
    if (c != nullptr && !c->held && c->changed == index)
      return "session " + r.session + " still waits for the lock of " + r.key + ", although the client of operation " +
             std::to_string(id) + " disconnected at " + in_seconds(r.left_at) + " and its server works";
  }
  return std::nullopt;
}

} // namespace belay::sim
