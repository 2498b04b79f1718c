// Converts operations of the simulator to those of the search for a linearization.

#include "sim/checkers/linearizability.hpp"

#include <map>
#include <set>

namespace belay::sim {

namespace {

using state::kv_verb;

/// Values by key and ModifyIndex, as clients read them.
class seen_values {
public:
  explicit seen_values(const std::deque<operation>& history) {
    for (const auto& op : history)
      if (op.answer)
        if (const auto* found = std::get_if<state::kv_entries>(&op.answer->data))
          for (const auto& e : found->entries)
            if (e)
              values_[{std::string(e->key), e->modify_index}] = *e->value;
  }

  expectation expected(const std::string& key, log_index index) const {
    if (index.is_zero())
      return {};
    const auto it = values_.find({key, index});
    return it == values_.end() ? expectation{true, std::nullopt} : expectation{false, it->second};
  }

private:
  std::map<std::pair<std::string, log_index>, std::string> values_;
};

register_op blank(const operation& op, const std::string& key, register_verb verb) {
  register_op r;
  r.id = op.id;
  r.key = key;
  r.verb = verb;
  r.result = op.result;
  r.invoked = op.invoked;
  r.returned = op.returned;
  return r;
}

std::optional<register_op> of_write(const operation& op, const state::kv_op& kv, const seen_values& seen) {
  register_verb verb = register_verb::put;
  switch (kv.verb) {
  case kv_verb::set:
    break;
  case kv_verb::cas:
    verb = register_verb::cas;
    break;
  case kv_verb::remove:
    verb = register_verb::remove;
    break;
  case kv_verb::remove_cas:
    verb = register_verb::remove_cas;
    break;
  default:
    return std::nullopt;
  }
  auto r = blank(op, kv.key, verb);
  r.value = kv.value ? *kv.value : std::string();
  r.expected = seen.expected(kv.key, kv.index);
  if (op.result == outcome::done) {
    const auto* received = std::get_if<bool>(&op.reply);
    if (received == nullptr)
      r.result = outcome::refused; // with a text; keys never return one
    else
      r.succeeded = *received;
  }
  return r;
}

} // namespace

/// First finds the keys that only puts, deletes and reads use: a lock, a counter or a transaction
/// is more than a register. Then it converts the operations on these keys. Reads that may legally
/// be old are left out.
std::vector<register_op> register_history(const std::deque<operation>& history, bool trust_lease,
                                          const paused_clocks* clocks) {
  const auto excused = [&](const operation& op) {
    return op.read->mode == http::consistency::normal &&
           (!trust_lease || (clocks != nullptr && clocks->lease_in_doubt_between(op.invoked, op.returned)));
  };
  const seen_values seen(history);
  std::set<std::string> keys, left_out;
  for (const auto& op : history) {
    if (op.write) {
      if (const auto* w = std::get_if<state::kv_write>(&*op.write)) {
        if (w->op.verb != kv_verb::remove_tree)
          keys.insert(w->op.key);
        if (w->op.verb == kv_verb::lock || w->op.verb == kv_verb::unlock || w->op.verb == kv_verb::add ||
            op.write->once)
          left_out.insert(w->op.key);
      } else if (const auto* t = std::get_if<state::txn>(&*op.write)) {
        for (const auto& each : t->ops)
          if (const auto* kv = std::get_if<state::kv_op>(&each); kv != nullptr && kv->verb != kv_verb::remove_tree)
            left_out.insert(kv->key);
      }
    } else if (op.read) {
      if (const auto* g = std::get_if<state::kv_get>(&op.read->query))
        keys.insert(g->key);
    }
  }
  // A transaction may also remove a tree.
  for (const auto& op : history)
    if (const auto* t = op.write ? std::get_if<state::txn>(&*op.write) : nullptr)
      for (const auto& each : t->ops)
        if (const auto* kv = std::get_if<state::kv_op>(&each); kv != nullptr && kv->verb == kv_verb::remove_tree)
          for (auto it = keys.lower_bound(kv->key); it != keys.end() && it->starts_with(kv->key); ++it)
            left_out.insert(*it);

  std::vector<register_op> found;
  for (const auto& op : history) {
    if (op.write) {
      const auto* w = std::get_if<state::kv_write>(&*op.write);
      if (w == nullptr)
        continue;
      if (w->op.verb == kv_verb::remove_tree) {
        if (op.result == outcome::done && std::holds_alternative<state::refusal>(op.reply))
          continue; // permission was denied
        for (auto it = keys.lower_bound(w->op.key); it != keys.end() && it->starts_with(w->op.key); ++it)
          if (left_out.count(*it) == 0)
            found.push_back(blank(op, *it, register_verb::remove));
      } else if (left_out.count(w->op.key) == 0) {
        if (auto r = of_write(op, w->op, seen))
          found.push_back(std::move(*r));
      }
      continue;
    }
    const auto* g = op.read ? std::get_if<state::kv_get>(&op.read->query) : nullptr;
    if (g == nullptr || left_out.count(g->key) != 0 || op.result != outcome::done || !op.answer)
      continue;
    if (op.read->mode == http::consistency::stale || excused(op))
      continue;
    const auto* received = std::get_if<state::kv_entries>(&op.answer->data);
    if (received == nullptr)
      continue;
    auto r = blank(op, g->key, register_verb::read);
    if (!received->entries.empty() && received->entries.front())
      r.observed = received->entries.front()->value ? *received->entries.front()->value : std::string();
    found.push_back(std::move(r));
  }
  return found;
}

} // namespace belay::sim
