// local_agent: reloads the configuration.

#include "protocol/agent/local_agent.hpp"

#include <algorithm>
#include <set>

namespace belay::agent {

namespace {

failure wrong(const char* what, const std::string& name, const std::string& why) {
  return {std::string(what) + " \"" + name + "\": " + why};
}

bool same(const service_definition& a, const service_definition& b) {
  return a.checks == b.checks && a.token == b.token && content_hash(a.service) == content_hash(b.service);
}

} // namespace

result<local_agent::definitions_by_id> local_agent::completed(configured_definitions d) const {
  definitions_by_id out;
  const auto scripts = settings_.scripts_from_files;
  for (auto& s : d.services) {
    const auto name = s.service.service;
    if (auto why = complete(s))
      return wrong("service", name, *why);
    name_checks(s);
    for (const auto& c : s.checks)
      if (auto why = refusal_of(c, scripts, origin::configuration))
        return wrong("service", name, *why);
    if (auto why = reserved_id_in(s))
      return wrong("service", name, *why);
    out.services.insert_or_assign(s.service.id, std::move(s));
  }
  for (auto& c : d.checks) {
    if (auto why = complaint_of(c))
      return wrong("check", c.name, *why);
    if (auto why = refusal_of(c, scripts, origin::configuration))
      return wrong("check", c.name, *why);
    if (auto why = reserved_id_in(c))
      return wrong("check", c.name, *why);
    const auto* registered = registry_.service(c.service_id);
    const bool stays = registered != nullptr && registered->from == origin::api;
    if (!c.service_id.empty() && !stays && !out.services.contains(c.service_id))
      return wrong("check", c.name, "ServiceID \"" + c.service_id + "\" does not exist");
    out.checks.insert_or_assign(c.id, std::move(c));
  }
  return out;
}

void local_agent::remove_what_is_left_out(const definitions_by_id& defined) {
  for (const auto& [id, s] : configured_.services) {
    const auto* there = registry_.service(id);
    if (!defined.services.contains(id) && there != nullptr && there->from == origin::configuration)
      remove_service(id);
  }
  std::set<std::string, folded_less> of_services;
  for (const auto& [id, s] : defined.services)
    for (const auto& c : s.checks)
      of_services.insert(c.id);
  std::vector<std::string> gone;
  registry_.for_each_check([&](const std::string& id, const local_registry::check_entry& c) {
    if (c.from == origin::configuration && !defined.checks.contains(id) && !of_services.contains(id))
      gone.push_back(id);
  });
  for (const auto& id : gone)
    remove_check(id);
}

bool local_agent::is_configured_as(const service_definition& s) const {
  const auto before = configured_.services.find(s.service.id);
  const auto* there = registry_.service(s.service.id);
  if (before == configured_.services.end() || !same(before->second, s) || there == nullptr ||
      there->from != origin::configuration)
    return false;
  return std::all_of(s.checks.begin(), s.checks.end(), [&](const check_definition& c) {
    const auto* check = registry_.check(c.id);
    return check != nullptr && check->from == origin::configuration && check->definition == c;
  });
}

void local_agent::configure(const service_definition& s, local_time now) {
  if (is_configured_as(s))
    return;
  // As at a start, the configuration takes precedence over stored requests.
  forget_stored({true, s.service.id});
  for (const auto& c : s.checks)
    forget_stored({false, c.id});
  add_service(s, false, origin::configuration, now);
}

void local_agent::configure(const check_definition& c, local_time now) {
  const auto* there = registry_.check(c.id);
  if (there != nullptr && there->from == origin::configuration && there->definition == c)
    return;
  forget_stored({false, c.id});
  // completed() has verified its service.
  (void)add_check(c, origin::configuration, now).ok();
}

status local_agent::reconfigure(configured_definitions d, local_time now) {
  const auto meta = d.node_meta;
  auto defined = completed(std::move(d));
  if (!defined)
    return defined.reason();
  remove_what_is_left_out(*defined);
  for (const auto& [id, s] : defined->services)
    configure(s, now);
  for (const auto& [id, c] : defined->checks)
    configure(c, now);
  registry_.refresh_aliases();
  configured_ = std::move(*defined);
  if (meta)
    registry_.set_node_meta(*meta);
  return done{};
}

} // namespace belay::agent
