#include "sim/checkers/watch_checker.hpp"

#include <algorithm>

namespace belay::sim {

namespace {

/// The prefix or the key of the query; nullopt: it is not about keys.
struct subject {
  std::string_view name;
  bool exact = false;

  bool touched_by(std::string_view key) const { return exact ? key == name : key.substr(0, name.size()) == name; }
};

std::optional<subject> subject_of(const state::query& q) {
  if (const auto* g = std::get_if<state::kv_get>(&q))
    return subject{g->key, true};
  if (const auto* l = std::get_if<state::kv_list>(&q))
    return subject{l->prefix, false};
  if (const auto* k = std::get_if<state::kv_keys>(&q))
    return subject{k->prefix, false};
  return std::nullopt;
}

/// Equal for equal queries; empty: its index is not checked.
std::string question_text(const state::query& q) {
  if (const auto* g = std::get_if<state::kv_get>(&q))
    return "key " + g->key;
  if (const auto* l = std::get_if<state::kv_list>(&q))
    return "prefix " + l->prefix;
  if (const auto* k = std::get_if<state::kv_keys>(&q))
    return "names " + std::to_string(k->prefix.size()) + ' ' + k->prefix + k->separator;
  // docs/contract/02, section 2: one number for all of them.
  if (std::holds_alternative<state::session_info>(q) || std::holds_alternative<state::session_list>(q) ||
      std::holds_alternative<state::session_node>(q))
    return "sessions";
  return {};
}

std::string of(std::uint64_t id, std::size_t client, std::size_t node, const state::query& q, log_index min_index) {
  return "blocking query " + std::to_string(id) + " of client " + std::to_string(client) + " at node " +
         std::to_string(node) + " (" + question_text(q) + ", index=" + to_string(min_index) + ")";
}

} // namespace

void watch_checker::begun(const operation& op) {
  if (!op.read || op.read->min_index == 0)
    return;
  auto& n = nodes_[op.node];
  if (op.node_life > n.life)
    n = {op.node_life, {}, n.stopped};
  waiting w;
  w.client = op.client;
  w.node = op.node;
  w.life = op.node_life;
  w.query = op.read->query;
  w.known = n.applied;
  w.min_index = log_index{op.read->min_index};
  w.wait = op.read->wait;
  w.is_held = op.read->mode == http::consistency::stale;
  const auto last = last_.find({op.client, op.node, op.node_life, question_text(w.query)});
  if (last != last_.end())
    w.last_index = last->second;
  w.scanned = changes_up_to(w.min_index);
  look(waiting_[op.id] = std::move(w), n, op.invoked);
}

void watch_checker::held(std::uint64_t operation_id, virtual_time now) {
  const auto it = waiting_.find(operation_id);
  if (it == waiting_.end())
    return;
  auto& w = it->second;
  if (w.parked_at)
    return;
  w.parked_at = nodes_[w.node].applied;
  if (const auto restored = keys_.last_restore(*w.parked_at); restored > w.news && !w.news.is_zero()) {
    // Undone before it was checked, with everything between the archive and the restore.
    w.news = {};
    w.due.reset();
    w.scanned = std::max(w.scanned, changes_up_to(restored));
    look(w, nodes_[w.node], now);
  }
  if (!w.is_held && w.due)
    w.due = now + rules_.slack;
  w.is_held = true;
  look_at_permission(w, nodes_[w.node], now);
}

broken watch_checker::ended(const operation& op) {
  const auto it = waiting_.find(op.id);
  if (it == waiting_.end())
    return std::nullopt;
  const auto w = std::move(it->second);
  waiting_.erase(it);
  if (op.result != outcome::done || !op.answer)
    return overdue(op.returned);
  const auto index = op.answer->index;
  const auto who = of(op.id, op.client, op.node, w.query, w.min_index);
  const bool refused = std::holds_alternative<state::refusal>(op.answer->data);
  if (index.is_zero() && !refused)
    return who + " was answered with index 0";

  if (const auto text = question_text(w.query); !text.empty() && !refused) {
    const auto subject = subject_of(w.query);
    const bool may_go_back = keys_.restored_between(w.last_index, op.committed_at_return) ||
                             (subject && !subject->exact && keys_.reaped_between(w.last_index, op.committed_at_return));
    if (index < w.last_index && !may_go_back)
      return who + " was answered with index " + to_string(index) + ", before with " + to_string(w.last_index);
    last_[{op.client, op.node, op.node_life, text}] = index;
  }
  const auto waited = op.returned - op.invoked;
  if (subject_of(w.query) && !refused && index <= w.min_index &&
      !keys_.restored_between(w.known, op.committed_at_return) &&
      std::chrono::duration<double>(waited).count() * rules_.fastest_clock <
          std::chrono::duration<double>(w.wait).count())
    return who + " was answered without news (index " + to_string(index) + ") after " + in_ms(waited) + " of " +
           in_ms(w.wait);
  if (w.refused_by && *w.refused_by < op.returned)
    return who + " was answered at " + in_ms(op.returned) + ", but had to be refused by " + in_ms(*w.refused_by);
  if (w.due && *w.due < op.returned &&
      (w.is_held || (!refused && index <= w.min_index && !keys_.restored_between(w.news, op.committed_at_return))))
    return who + " was answered at " + in_ms(op.returned) + " with index " + to_string(index) + ", but entry " +
           to_string(w.news) + " had to be answered by " + in_ms(*w.due);
  return overdue(op.returned);
}

broken watch_checker::applied(std::size_t node, int life, log_index index, virtual_time now) {
  auto& n = nodes_[node];
  if (life < n.life)
    return overdue(now);
  if (life > n.life) {
    n = {life, {}, n.stopped};
    for (auto it = waiting_.begin(); it != waiting_.end();) // its connections ended with it
      it = it->second.node == node && it->second.life < life ? waiting_.erase(it) : std::next(it);
  }
  n.applied = index;
  for (auto& [id, w] : waiting_)
    if (w.node == node && w.life == life)
      look(w, n, now);
  return overdue(now);
}

broken watch_checker::node_stopped(std::size_t node, virtual_time now) {
  auto late = overdue(now);
  nodes_[node].stopped = true;
  for (auto& [id, w] : waiting_)
    if (w.node == node) {
      w.due.reset();
      w.refused_by.reset();
    }
  return late;
}

broken watch_checker::node_resumed(std::size_t node, virtual_time now) {
  nodes_[node].stopped = false;
  for (auto& [id, w] : waiting_)
    if (w.node == node) {
      if (!w.news.is_zero())
        w.due = now + rules_.slack;
      look_at_permission(w, nodes_[node], now);
    }
  return overdue(now);
}

std::size_t watch_checker::changes_up_to(log_index i) const {
  const auto& changes = keys_.changes();
  return static_cast<std::size_t>(
      std::upper_bound(changes.begin(), changes.end(), i, [](log_index i, const kv_change& c) { return i < c.index; }) -
      changes.begin());
}

/// A change must wake the query only if the index that the contract promises is above the one
/// waited for. Reaped tombstones, or an older one below a deleted tree, may hide it.
void watch_checker::look(waiting& w, const node_state& n, virtual_time now) const {
  const auto subject = subject_of(w.query);
  if (w.life != n.life)
    return;
  look_at_permission(w, n, now);
  const auto limit = std::min(n.applied, keys_.applied());
  if (!w.news.is_zero()) {
    // The query was not evaluated yet, and the tombstone is reaped. (A restore wakes it anyway.)
    if (subject && !keys_.restored_between(w.news.prev(), w.news) && sure_index(w.query, limit) <= w.min_index) {
      w.news = {};
      w.due.reset();
      w.scanned = changes_up_to(limit);
    }
    return;
  }
  const auto found = [&](log_index news) {
    w.news = news;
    if (!n.stopped)
      w.due = now + rules_.slack;
  };
  if (w.parked_at && !w.parked_at->is_zero()) {
    const auto& restores = keys_.restores();
    const auto next = std::upper_bound(restores.begin(), restores.end(), *w.parked_at);
    if (next != restores.end() && *next <= n.applied)
      return found(*next);
  }
  if (!subject)
    return;
  const auto& changes = keys_.changes();
  for (; w.scanned < changes.size() && changes[w.scanned].index <= limit; ++w.scanned) {
    const auto& c = changes[w.scanned];
    if (!subject->touched_by(c.key) || sure_index(w.query, limit) <= w.min_index)
      continue;
    return found(c.index);
  }
}

void watch_checker::look_at_permission(waiting& w, const node_state& n, virtual_time now) const {
  const auto s = std::min(n.applied, keys_.applied());
  if (!w.query.by || !w.is_held || !keys_.access().begun(s))
    return;
  if (!keys_.refuses(w.query, s))
    w.refused_by.reset();
  else if (!w.refused_by && !n.stopped)
    w.refused_by = now + rules_.slack;
}

log_index watch_checker::sure_index(const state::query& q, log_index s) const {
  const auto about = *subject_of(q);
  return (about.exact ? keys_.key_index(about.name, s) : keys_.prefix_index(about.name, s)).low;
}

broken watch_checker::overdue(virtual_time now) const {
  for (const auto& [id, w] : waiting_)
    if (w.is_held && w.due && *w.due < now)
      return of(id, w.client, w.node, w.query, w.min_index) + " still waits at " + in_ms(now) + ", but entry " +
             to_string(w.news) + " had to be answered by " + in_ms(*w.due);
    else if (w.is_held && w.refused_by && *w.refused_by < now)
      return of(id, w.client, w.node, w.query, w.min_index) + " still waits at " + in_ms(now) + " on behalf of " +
             w.query.by->secret + ", but had to be refused by " + in_ms(*w.refused_by);
  return std::nullopt;
}

} // namespace belay::sim
