// local_registry: synchronization with the catalog.

#include "protocol/agent/local_registry.hpp"
#include "protocol/agent/member_catalog.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/state/answer_size.hpp"

#include <algorithm>
#include <unordered_map>

namespace belay::agent {

namespace {

bool same(const std::optional<std::map<std::string, state::service_address>>& a,
          const std::optional<std::map<std::string, state::service_address>>& b) {
  static const std::map<std::string, state::service_address> none;
  const auto& x = a ? *a : none;
  const auto& y = b ? *b : none;
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto& l, const auto& r) {
    return l.first == r.first && l.second.address == r.second.address && l.second.port == r.second.port;
  });
}

bool same(const state::service_record& a, const state::service_record& b) {
  return a.kind == b.kind && a.service == b.service && a.address == b.address && a.port == b.port &&
         a.tags.value_or(std::vector<std::string>{}) == b.tags.value_or(std::vector<std::string>{}) &&
         a.meta.value_or(state::string_map{}) == b.meta.value_or(state::string_map{}) &&
         same(a.tagged_addresses, b.tagged_addresses) && a.weights.passing == b.weights.passing &&
         a.weights.warning == b.weights.warning && a.enable_tag_override == b.enable_tag_override &&
         a.proxy_json == b.proxy_json && a.connect_json == b.connect_json;
}

bool same(const state::check_record& a, const state::check_record& b, bool whatever_output) {
  return a.name == b.name && a.status == b.status && a.notes == b.notes && a.service_id == b.service_id &&
         a.service_name == b.service_name && (whatever_output || a.output == b.output);
}

/// About the bytes of a service's checks in one command; further ones are written one by
/// one. Half of what a server takes in a client agent's request.
constexpr std::size_t step_bytes_max = 2u << 20;

/// Indexes rows by their IDs in lower case: there may be thousands on both sides.
template <class Row, class Id>
std::unordered_map<std::string, Row> by_id(const std::vector<Row>& rows, Id id_of) {
  std::unordered_map<std::string, Row> index;
  index.reserve(rows.size());
  for (const auto& row : rows)
    index.emplace(lower_case(id_of(*row)), row);
  return index;
}

} // namespace

state::catalog_register local_registry::registration() const {
  state::catalog_register r;
  r.node = settings_.node;
  r.skip_node_update = true; // only has an effect if the node is missing
  return r;
}

sync_step local_registry::step_for(const std::string& id, held_service& s, const checks_by_owner& waiting) {
  sync_step step;
  step.services.emplace_back(id, s.version);
  step.token = s.token;
  s.in_flight = true;
  if (s.deleted) {
    step.command = state::catalog_deregister{settings_.node.node, id, {}};
    return step;
  }
  auto r = registration();
  r.service = *s.row;
  std::size_t bytes = 0;
  for (auto [it, end] = waiting.equal_range(id); it != end; ++it) {
    auto& [check_id, c] = *it->second;
    const auto more = state::shown_bytes(*c.row);
    if (c.definition.token != s.token || bytes + more > step_bytes_max)
      continue; // sent separately, after the service
    bytes += more;
    c.in_flight = true;
    r.checks.push_back(*c.row);
    step.checks.emplace_back(check_id, c.version);
  }
  step.command = std::move(r);
  return step;
}

sync_step local_registry::step_for(const std::string& id, held_check& c) {
  sync_step step;
  step.checks.emplace_back(id, c.version);
  step.token = c.definition.token;
  c.in_flight = true;
  if (c.deleted) {
    step.command = state::catalog_deregister{settings_.node.node, {}, id};
    return step;
  }
  auto r = registration();
  r.checks.push_back(*c.row);
  step.command = std::move(r);
  return step;
}

std::vector<sync_step> local_registry::unsynced(local_time now) {
  refresh_aliases();
  std::vector<sync_step> steps;
  for (auto& [id, c] : checks_)
    if (c.output_due && *c.output_due <= now) {
      c.output_due.reset();
      changed(c);
    }
  if (node_.waits(now)) {
    auto r = registration();
    r.skip_node_update = false;
    node_.in_flight = true;
    sync_step step;
    step.node = node_.version;
    step.command = std::move(r);
    steps.push_back(std::move(step));
  }
  checks_by_owner waiting;
  for (auto& entry : checks_)
    if (const auto& c = entry.second; c.waits(now) && !c.deleted && !c.row->service_id.empty())
      waiting.emplace(c.row->service_id, &entry);
  for (auto& [id, s] : services_)
    if (s.waits(now))
      steps.push_back(step_for(id, s, waiting));
  for (auto& [id, c] : checks_) {
    const auto owner = services_.find(c.row->service_id);
    const bool owner_comes = !c.deleted && owner != services_.end() && !owner->second.deleted && !owner->second.in_sync;
    if (c.waits(now) && !owner_comes)
      steps.push_back(step_for(id, c));
  }
  return steps;
}

void local_registry::settled(const sync_step& step, bool done, local_time again) {
  const auto settle = [done, again](auto& held, const std::pair<std::string, std::uint64_t>& carried) {
    const auto it = held.find(carried.first);
    if (it == held.end())
      return;
    auto& s = it->second;
    s.in_flight = false;
    if (s.version != carried.second) // it has changed meanwhile
      return;
    s.not_before = again;
    if (!done)
      return;
    if (s.deleted)
      held.erase(it);
    else
      s.in_sync = true;
  };
  if (step.node) {
    node_.in_flight = false;
    node_.in_sync = done && node_.version == *step.node;
    node_.not_before = again;
  }
  for (const auto& s : step.services)
    settle(services_, s);
  for (const auto& c : step.checks)
    settle(checks_, c);
}

bool local_registry::in_sync() const {
  const auto settled = [](const auto& held) { return held.second.in_sync; };
  return node_.in_sync && std::all_of(services_.begin(), services_.end(), settled) &&
         std::all_of(checks_.begin(), checks_.end(), settled);
}

bool local_registry::service_in_sync(const std::string& id) const {
  const auto it = services_.find(id);
  return it == services_.end() || it->second.in_sync;
}

bool local_registry::check_in_sync(const std::string& id) const {
  const auto it = checks_.find(id);
  return it == checks_.end() || it->second.in_sync;
}

/// Marks every difference between the catalog's rows of this node and the agent's own: own rows
/// that are missing or differ are written again, unknown rows are removed. Rows with a write in
/// progress are skipped.
void local_registry::compare(const state::node_ptr& node, const std::vector<state::service_ptr>& services,
                             const std::vector<state::check_ptr>& checks) {
  if (!node_.in_flight && (node == nullptr || MUTANT(own_row_written_again) || node->id != settings_.node.id ||
                           node->address != settings_.node.address || node->meta != settings_.node.meta))
    changed(node_);
  const auto service_id = [](const state::service_record& s) -> const std::string& { return s.id; };
  const auto check_id = [](const state::check_record& c) -> const std::string& { return c.check_id; };
  const auto known_services = by_id(services, service_id);
  for (auto& [id, s] : services_) {
    if (s.deleted || s.in_flight)
      continue;
    const auto found = known_services.find(lower_case(id));
    const bool there = found != known_services.end();
    if (there && s.row->enable_tag_override && found->second->tags != s.row->tags) {
      auto row = std::make_shared<state::service_record>(*s.row); // the catalog's tags take precedence
      row->tags = found->second->tags;
      s.row = std::move(row);
    }
    const bool equal = there && same(*s.row, *found->second);
    if (!equal)
      changed(s);
    s.in_sync = equal;
  }
  const auto known_checks = by_id(checks, check_id);
  for (auto& [id, c] : checks_) {
    if (c.deleted || c.in_flight)
      continue;
    const auto found = known_checks.find(lower_case(id));
    const bool equal = found != known_checks.end() && same(*c.row, *found->second, c.output_due.has_value());
    if (!equal)
      changed(c);
    c.in_sync = equal;
  }
  // The agent ignores what the leader maintains for every member.
  for (const auto& row : services)
    if (!same_id(row->id, server_service) && services_.count(row->id) == 0 && !MUTANT(unknown_services_stay)) {
      auto& s = services_[row->id];
      s.row = row;
      gone(s);
    }
  for (const auto& row : checks) {
    if (same_id(row->check_id, liveness_check) || checks_.count(row->check_id) != 0)
      continue;
    const auto owner = services_.find(row->service_id);
    if (!row->service_id.empty() && (owner == services_.end() || owner->second.deleted))
      continue; // removed with its service
    auto& c = checks_[row->check_id];
    c.row = row;
    gone(c);
  }
}

} // namespace belay::agent
