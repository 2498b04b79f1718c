#include "sim/checkers/models/session_model.hpp"

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

/// docs/contract/04, section 2.1.
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
  auto& l = lives_[wanted.id];
  if (l.changes.empty() || !l.lives()) {
    l.session = wanted;
    record_change(l, at, true);
  }
  return wanted.id;
}

void session_model::record_change(life& l, log_index at, bool lives) {
  l.changes.push_back({at, lives});
  if (changes_.empty() || changes_.back() != at)
    changes_.push_back(at);
}

std::vector<std::string> session_model::who_relies_on(std::string_view node, std::string_view check) const {
  std::vector<std::string> found;
  for (const auto& [id, l] : lives_) {
    const auto checks = checks_of(l.session);
    if (l.lives() && l.session.node == node &&
        (check.empty() || std::find(checks.begin(), checks.end(), check) != checks.end()))
      found.push_back(id);
  }
  return found;
}

std::vector<std::string> session_model::of_registration(const state::catalog_register& c, log_index at) {
  // A missing node has no services; a check of a service not in the same command is rejected.
  const auto lacks_service = [&](const state::check_record& check) {
    return !check.service_id.empty() && (!c.service || c.service->id != check.service_id);
  };
  if (!nodes_.contains(c.node.node) && std::any_of(c.checks.begin(), c.checks.end(), lacks_service))
    return {};
  auto& checks = nodes_[c.node.node];
  std::vector<std::string> ending;
  for (const auto& check : c.checks) {
    checks[check.check_id] = check.status.empty() ? "critical" : check.status;
    if (checks[check.check_id] == "critical")
      for (auto& id : who_relies_on(c.node.node, check.check_id))
        ending.push_back(std::move(id));
  }
  nodes_since_[at] = nodes_;
  std::sort(ending.begin(), ending.end());
  ending.erase(std::unique(ending.begin(), ending.end()), ending.end());
  return ending;
}

std::vector<std::string> session_model::of_deregistration(const state::catalog_deregister& c, log_index at) {
  const auto node = nodes_.find(c.node);
  if (node == nodes_.end() || !c.service_id.empty())
    return {};
  std::vector<std::string> ending;
  if (c.check_id.empty()) {
    nodes_.erase(node);
    ending = who_relies_on(c.node, {});
  } else if (node->second.erase(c.check_id) != 0) {
    ending = who_relies_on(c.node, c.check_id);
  }
  nodes_since_[at] = nodes_;
  return ending;
}

void session_model::end(std::string_view id, log_index at) {
  const auto it = lives_.find(id);
  if (it != lives_.end() && it->second.lives())
    record_change(it->second, at, false);
}

void session_model::go_back(log_index archive, log_index at) {
  for (auto& [id, l] : lives_)
    if (const bool then = lived_at(id, archive); then != l.lives())
      record_change(l, at, then);
  const auto since = nodes_since_.upper_bound(archive);
  nodes_ = since == nodes_since_.begin() ? registered{} : std::prev(since)->second;
  nodes_since_[at] = nodes_;
}

const state::session_record* session_model::past(std::string_view id) const {
  const auto it = lives_.find(id);
  return it == lives_.end() ? nullptr : &it->second.session;
}

const state::session_record* session_model::find(std::string_view id) const {
  const auto it = lives_.find(id);
  return it != lives_.end() && it->second.lives() ? &it->second.session : nullptr;
}

bool session_model::lived_at(std::string_view id, log_index s) const {
  const auto it = lives_.find(id);
  if (it == lives_.end())
    return false;
  const auto& all = it->second.changes;
  const auto later = std::upper_bound(all.begin(), all.end(), s, [](log_index i, const change& c) { return i < c.at; });
  return later != all.begin() && std::prev(later)->lives;
}

bool session_model::lived_always(std::string_view id, log_index from, log_index to) const {
  const auto it = lives_.find(id);
  return it != lives_.end() && lived_at(id, from) &&
         std::none_of(it->second.changes.begin(), it->second.changes.end(),
                      [&](const change& c) { return !c.lives && from < c.at && c.at <= to; });
}

bool session_model::lived_ever(std::string_view id, log_index from, log_index to) const {
  const auto it = lives_.find(id);
  return it != lives_.end() &&
         (lived_at(id, from) || std::any_of(it->second.changes.begin(), it->second.changes.end(),
                                            [&](const change& c) { return c.lives && from < c.at && c.at <= to; }));
}

bool session_model::has_check(std::string_view node, const std::string& check, log_index s) const {
  const auto later = nodes_since_.upper_bound(s);
  if (later == nodes_since_.begin())
    return false;
  const auto& then = std::prev(later)->second;
  const auto known = then.find(node);
  return known != then.end() && known->second.count(check) != 0;
}

std::vector<std::string> session_model::alive() const {
  std::vector<std::string> found;
  for (const auto& [id, l] : lives_)
    if (l.lives())
      found.push_back(id);
  return found;
}

} // namespace belay::sim
