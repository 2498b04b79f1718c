#include "protocol/agent/local_registry.hpp"

#include "protocol/agent/alias_health.hpp"

#include <algorithm>
#include <utility>

namespace belay::agent {

namespace {

constexpr std::string_view critical = "critical";

/// docs/contract/09, section 3: the first bytes, and the original size.
std::string cut(std::string_view output, std::int64_t limit) {
  const auto max = static_cast<std::size_t>(limit);
  if (output.size() <= max)
    return std::string(output);
  return std::string(output.substr(0, max)) + " ... (captured " + std::to_string(max) + " of " +
         std::to_string(output.size()) + " bytes)";
}

/// Rows still registered, in byte order. Removed ones stay in the map until the catalog is updated.
template <class Row, class Map, class Id>
std::vector<Row> rows_of(const Map& held, Id id_of) {
  std::vector<Row> list;
  for (const auto& [id, each] : held)
    if (!each.deleted)
      list.push_back(each.row);
  const auto less = [&](const Row& a, const Row& b) { return id_of(*a) < id_of(*b); };
  if (!std::is_sorted(list.begin(), list.end(), less)) // the map ignores case
    std::sort(list.begin(), list.end(), less);
  return list;
}

template <class Map>
std::string registered_id(const Map& held, const std::string& id) {
  const auto it = held.find(id);
  return it == held.end() || it->second.deleted ? id : it->first;
}

/// The entry of `id`, new or existing. A removed one gets the new spelling.
template <class Map>
typename Map::mapped_type& entry_of(Map& held, const std::string& id) {
  if (const auto it = held.find(id); it != held.end() && it->second.deleted && it->first != id) {
    auto node = held.extract(it);
    node.key() = id;
    return held.insert(std::move(node)).position->second;
  }
  return held[id];
}

} // namespace

void local_registry::set_node_meta(state::string_map meta) {
  if (settings_.node.meta == meta)
    return;
  settings_.node.meta = std::move(meta);
  changed(node_);
}

const local_registry::service_entry* local_registry::service(const std::string& id) const {
  const auto it = services_.find(id);
  return it == services_.end() || it->second.deleted ? nullptr : &it->second;
}

const local_registry::check_entry* local_registry::check(const std::string& id) const {
  const auto it = checks_.find(id);
  return it == checks_.end() || it->second.deleted ? nullptr : &it->second;
}

std::vector<state::service_ptr> local_registry::services() const {
  return rows_of<state::service_ptr>(
      services_, [](const auto& s) -> const auto& { return s.id; });
}

std::vector<state::check_ptr> local_registry::checks() const {
  return rows_of<state::check_ptr>(
      checks_, [](const auto& c) -> const auto& { return c.check_id; });
}

void local_registry::for_each_check(const std::function<void(const std::string&, const check_entry&)>& visit) const {
  for (const auto& [id, c] : checks_)
    if (!c.deleted)
      visit(id, c);
}

std::string local_registry::registered_service_id(const std::string& id) const {
  return registered_id(services_, id);
}

std::string local_registry::registered_check_id(const std::string& id) const {
  return registered_id(checks_, id);
}

void local_registry::spell_as_registered(service_definition& d) const {
  d.service.id = registered_service_id(d.service.id);
  std::set<std::string, folded_less> spelled;
  for (auto& c : d.checks) {
    c.service_id = d.service.id;
    c.id = *spelled.insert(registered_check_id(c.id)).first;
  }
}

void local_registry::spell_as_registered(check_definition& d) const {
  d.id = registered_check_id(d.id);
  d.service_id = registered_service_id(d.service_id);
}

void local_registry::add_service(service_definition d, bool replace_existing_checks, origin from) {
  d.service.node = settings_.node.node;
  const auto id = d.service.id;
  auto& held = entry_of(services_, id);
  held.row = std::make_shared<const state::service_record>(std::move(d.service));
  held.from = from;
  held.token = std::move(d.token);
  changed(held);
  if (replace_existing_checks) {
    std::vector<std::string> not_mentioned;
    for (const auto& [check_id, c] : checks_) {
      const auto named = [&, &known = check_id](const check_definition& n) { return n.id == known; };
      if (!c.deleted && c.row->service_id == id && std::none_of(d.checks.begin(), d.checks.end(), named))
        not_mentioned.push_back(check_id);
    }
    for (const auto& check_id : not_mentioned)
      remove_check(check_id);
  }
  // Checks have the service's name and tags, including earlier ones.
  for (auto& [check_id, c] : checks_)
    if (!c.deleted && c.row->service_id == id) {
      auto row = std::make_shared<state::check_record>(*c.row);
      row->service_name = held.row->service;
      row->service_tags = held.row->tags;
      c.row = std::move(row);
    }
  for (auto& c : d.checks)
    put_check(std::move(c), &held, from);
  aliases_stale_ = true;
}

void local_registry::put_check(check_definition d, const held_service* service, origin from) {
  auto row = std::make_shared<state::check_record>();
  row->node = settings_.node.node;
  row->check_id = d.id;
  row->name = d.name;
  row->notes = d.notes;
  row->status = d.status.empty() ? critical : d.status;
  row->service_id = d.service_id;
  row->type = name_of(kind_of(d));
  row->service_tags.emplace();
  if (service != nullptr) {
    row->service_name = service->row->service;
    row->service_tags = service->row->tags;
  }
  auto& held = entry_of(checks_, d.id);
  if (held.row != nullptr && !held.deleted) { // a service that registers again must not flap
    row->status = held.row->status;
    row->output = held.row->output;
  } else {
    held.critical_since.reset();
  }
  held.definition = std::move(d);
  if (kind_of(held.definition) == check_kind::alias)
    has_aliases_ = true;
  held.row = std::move(row);
  held.from = from;
  held.output_due.reset();
  changed(held);
}

bool local_registry::remove_service(const std::string& id) {
  const auto it = services_.find(id);
  if (it == services_.end() || it->second.deleted)
    return false;
  gone(it->second);
  // The catalog removes them together with the service.
  std::erase_if(checks_, [&](const auto& c) { return c.second.row->service_id == id; });
  aliases_stale_ = true;
  return true;
}

status local_registry::add_check(check_definition d, origin from) {
  const held_service* owner = nullptr;
  if (!d.service_id.empty()) {
    const auto it = services_.find(d.service_id);
    if (it == services_.end() || it->second.deleted)
      return failure{"ServiceID \"" + d.service_id + "\" does not exist"};
    owner = &it->second;
  }
  put_check(std::move(d), owner, from);
  aliases_stale_ = true;
  return done{};
}

bool local_registry::remove_check(const std::string& id) {
  const auto it = checks_.find(id);
  if (it == checks_.end() || it->second.deleted)
    return false;
  gone(it->second);
  aliases_stale_ = true;
  return true;
}

std::string local_registry::shown_output(const std::string& id, std::string_view output) const {
  const auto* c = check(id);
  return cut(output, c != nullptr ? output_limit(c->definition) : settings_.output_bytes_max);
}

std::int64_t local_registry::output_limit(const check_definition& d) const {
  const auto usual = settings_.output_bytes_max;
  return d.output_bytes_max > 0 ? std::min(d.output_bytes_max, usual) : usual;
}

bool local_registry::set_status(const std::string& id, std::string_view status, std::string_view output,
                                local_time now) {
  const auto it = checks_.find(id);
  if (it == checks_.end() || it->second.deleted)
    return false;
  auto& c = it->second;
  if (status != critical)
    c.critical_since.reset();
  else if (!c.critical_since)
    c.critical_since = now;

  if (c.row->status == status && c.row->output == output)
    return true;
  const bool output_alone = c.row->status == status;
  auto row = std::make_shared<state::check_record>(*c.row);
  row->status = status;
  row->output = output;
  c.row = std::move(row);
  if (output_alone && c.in_sync && settings_.update_interval.count() > 0) {
    // Output that changes with every run would add a log entry for every run.
    if (!c.output_due) {
      const auto interval = static_cast<std::uint64_t>(settings_.update_interval.count());
      c.output_due = now + settings_.update_interval / 2 +
                     std::chrono::nanoseconds(static_cast<std::int64_t>(random_.below(interval)));
    }
    return true;
  }
  c.output_due.reset();
  changed(c);
  if (!output_alone)
    aliases_stale_ = true;
  return true;
}

void local_registry::refresh_aliases() {
  if (!std::exchange(aliases_stale_, false) || !has_aliases_)
    return;
  grouped_checks checks;
  std::vector<std::pair<std::size_t, held_check*>> aliases;
  for (auto& [id, c] : checks_) {
    if (c.deleted)
      continue;
    const auto number = checks.add(c.row);
    // One of another node is looked up like a check that is run.
    if (kind_of(c.definition) == check_kind::alias && !is_alias_elsewhere(c.definition, settings_.node.node))
      aliases.emplace_back(number, &c);
  }
  has_aliases_ = !aliases.empty();
  // Aliases of aliases advance one step with each change, as in Consul with each round.
  for (const auto& [number, alias] : aliases) {
    auto& c = *alias;
    const auto& d = c.definition;
    const bool missing = !d.alias_service.empty() && service(d.alias_service) == nullptr;
    auto [status, output] = missing ? std::pair(std::string(critical), alias_not_found(d, settings_.node.node))
                                    : checks.health_of(d, number);
    if (c.row->status == status && c.row->output == output)
      continue;
    auto row = std::make_shared<state::check_record>(*c.row);
    row->status = std::move(status);
    row->output = std::move(output);
    c.row = std::move(row);
    checks.replace(number, c.row);
    changed(c);
  }
}

std::string aggregated(const std::vector<state::check_ptr>& checks) {
  std::string worst = "passing";
  for (const auto& c : checks) {
    if (c->check_id == node_maintenance_id ||
        c->check_id.compare(0, service_maintenance_prefix.size(), service_maintenance_prefix) == 0)
      return "maintenance";
    if (c->status == critical)
      worst = critical;
    else if (c->status == "warning" && worst == "passing")
      worst = "warning";
  }
  return worst;
}

} // namespace belay::agent
