#include "sim/session_model.hpp"

#include <algorithm>

namespace belay::sim {

namespace {

std::vector<std::string> checks_of(const state::session_record& s) {
  std::vector<std::string> all;
  for (const auto* some : {&s.checks, &s.node_checks, &s.service_checks})
    if (some->has_value())
      all.insert(all.end(), (*some)->begin(), (*some)->end());
  return all;
}

} // namespace

/// Contract 04 section 2.1.
state::reply session_model::create(const state::session_record& wanted, log_index at) {
  const auto node = nodes_.find(wanted.node);
  if (node == nodes_.end())
    return state::refusal{"Missing node registration"};
  for (const auto& check : checks_of(wanted)) {
    const auto found = node->second.find(check);
    if (found == node->second.end())
      return state::refusal{"Missing check '" + check + "' registration"};
    if (found->second == "critical")
      return state::refusal{"Check '" + check + "' is in critical state"};
  }
  if (lives_.try_emplace(wanted.id, life{wanted, at, {}}).second)
    changes_.push_back(at);
  return wanted.id;
}

std::vector<std::string> session_model::who_relies_on(std::string_view node, std::string_view check) const {
  std::vector<std::string> found;
  for (const auto& [id, l] : lives_) {
    const auto checks = checks_of(l.session);
    if (l.ended.is_zero() && l.session.node == node &&
        (check.empty() || std::find(checks.begin(), checks.end(), check) != checks.end()))
      found.push_back(id);
  }
  return found;
}

std::vector<std::string> session_model::of_registration(const state::catalog_register& c) {
  auto& checks = nodes_[c.node.node];
  std::vector<std::string> ending;
  for (const auto& check : c.checks) {
    checks[check.check_id] = check.status.empty() ? "critical" : check.status;
    if (checks[check.check_id] == "critical")
      for (auto& id : who_relies_on(c.node.node, check.check_id))
        ending.push_back(std::move(id));
  }
  std::sort(ending.begin(), ending.end());
  ending.erase(std::unique(ending.begin(), ending.end()), ending.end());
  return ending;
}

std::vector<std::string> session_model::of_deregistration(const state::catalog_deregister& c) {
  const auto node = nodes_.find(c.node);
  if (node == nodes_.end() || !c.service_id.empty())
    return {};
  if (!c.check_id.empty())
    return node->second.erase(c.check_id) != 0 ? who_relies_on(c.node, c.check_id) : std::vector<std::string>{};
  nodes_.erase(node);
  return who_relies_on(c.node, {});
}

void session_model::end(std::string_view id, log_index at) {
  const auto it = lives_.find(id);
  if (it == lives_.end() || !it->second.ended.is_zero())
    return;
  it->second.ended = at;
  changes_.push_back(at);
}

const state::session_record* session_model::find(std::string_view id) const {
  const auto* l = past(id);
  return l != nullptr && l->ended.is_zero() ? &l->session : nullptr;
}

const session_model::life* session_model::past(std::string_view id) const {
  const auto it = lives_.find(id);
  return it == lives_.end() ? nullptr : &it->second;
}

bool session_model::lived_at(std::string_view id, log_index s) const {
  const auto* l = past(id);
  return l != nullptr && l->born <= s && (l->ended.is_zero() || s < l->ended);
}

log_index session_model::changed_at(log_index s) const {
  const auto it = std::upper_bound(changes_.begin(), changes_.end(), s);
  return it == changes_.begin() ? log_index{} : *std::prev(it);
}

} // namespace belay::sim
