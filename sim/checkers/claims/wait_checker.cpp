#include "sim/checkers/claims/wait_checker.hpp"

#include "protocol/base/probe.hpp"
#include "sim/record/text_rendering.hpp"

namespace belay::sim {

using state::claim_space;

void wait_checker::begun(const operation& op) {
  const auto* read = op.read ? std::get_if<state::claim_read>(&op.read->query) : nullptr;
  const bool reads = read != nullptr && op.read->min_index != 0 && read->of.space == claim_space::claims;
  const bool asks = op.write && op.lock_wait > virtual_time::zero();
  if (op.through_agent || (!reads && !asks))
    return;
  waiting w;
  w.node = op.node;
  w.life = op.node_life;
  if (reads) {
    w.of = read->of;
    w.read_at = log_index{op.read->min_index};
    w.read = model_.claims_at(w.read_at);
  } else if (const auto* a = std::get_if<state::claim_ask>(&*op.write)) {
    w.of = {a->name, claim_space::claims};
    w.id = a->id;
  } else if (const auto* k = std::get_if<state::kv_acquire>(&*op.write)) {
    w.of = {k->op.key, claim_space::keys};
    w.id = k->op.session;
  } else {
    return;
  }
  waiting_[op.id] = std::move(w);
}

void wait_checker::held(std::uint64_t operation_id, virtual_time now) {
  const auto it = waiting_.find(operation_id);
  if (it == waiting_.end())
    return;
  auto& w = it->second;
  w.held = true;
  w.requested_by = model_.applied();
  look(w, nodes_[it->second.node], now);
}

broken wait_checker::applied(std::size_t node, int life, log_index index, virtual_time now) {
  auto& n = nodes_[node];
  if (life < n.life)
    return overdue(now);
  if (life > n.life) {
    n = {life, {}, false};
    std::erase_if(waiting_, [&](const auto& each) { return each.second.node == node && each.second.life < life; });
  }
  n.applied = index;
  for (auto& [id, w] : waiting_)
    if (w.node == node && w.life == life)
      look(w, n, now);
  return overdue(now);
}

bool wait_checker::is_decided(waiting& w, log_index applied) const {
  const auto now = model_.claims_at(applied);
  if (w.read != nullptr) {
    const auto *before = w.read->find(w.of), *after = now->find(w.of);
    const bool same = before == nullptr || after == nullptr ? before == after : *before == *after;
    if (!same && applied >= w.read_at)
      PROBE("claims: a change is to be told to a reader");
    return !same && applied >= w.read_at; // a server that is behind must get there first
  }
  if (applied < w.requested_by) // an earlier claim of that ID may end before
    return false;
  const auto* claim = now->find(w.of, w.id);
  const bool waits = claim != nullptr && !claim->held;
  w.seen = w.seen || waits;
  return w.seen && !waits;
}

void wait_checker::look(waiting& w, const node_state& n, virtual_time now) const {
  if (!w.held || w.decided || w.life != n.life || !is_decided(w, n.applied))
    return;
  PROBE("claims: who waits is to be told");
  w.decided = true;
  w.decided_by = n.applied;
  if (!n.stopped)
    w.due = now + slack_;
}

broken wait_checker::node_stopped(std::size_t node, virtual_time now) {
  auto late = overdue(now);
  nodes_[node].stopped = true;
  for (auto& [id, w] : waiting_)
    if (w.node == node)
      w.due.reset();
  return late;
}

broken wait_checker::node_resumed(std::size_t node, virtual_time now) {
  nodes_[node].stopped = false;
  for (auto& [id, w] : waiting_)
    if (w.node == node && w.decided)
      w.due = now + slack_;
  return overdue(now);
}

broken wait_checker::ended(const operation& op) {
  auto late = overdue(op.returned);
  waiting_.erase(op.id);
  return late;
}

broken wait_checker::overdue(virtual_time now) const {
  for (const auto& [id, w] : waiting_)
    if (w.due && *w.due < now)
      return "operation " + std::to_string(id) + " at node " + std::to_string(w.node) +
             (w.read != nullptr ? " reads and waits: " : " waits for ") +
             std::string(w.of.space == claim_space::claims ? "claim " : "the lock of ") + w.of.name + " as " + w.id +
             " at " + in_seconds(now) + ", but what the node had applied by entry " + to_string(w.decided_by) +
             " decided it, and the client had to be notified by " + in_seconds(*w.due);
  return std::nullopt;
}

} // namespace belay::sim
