#include "protocol/agent/local_agent.hpp"

#include "protocol/agent/member_catalog.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/go_compat/quoting.hpp"

#include <algorithm>
#include <set>

namespace belay::agent {

local_agent::local_agent(agent_settings s)
    : settings_(std::move(s)), registry_(settings_.registry),
      schedule_(settings_.registry.seed + 1, settings_.registry.node.node) {}

// ---- registrations

std::optional<std::string> local_agent::refusal_of(const check_definition& d, bool allowed, origin from) const {
  if (!d.maintenance && kind_of(d) == check_kind::script && !allowed)
    return from == origin::api ? std::string("Scripts are disabled on this agent from remote calls; to enable, "
                                             "configure 'enable_script_checks' to true")
                               : std::string(scripts_disabled_in_files);
  return std::nullopt;
}

std::optional<std::string> local_agent::reserved_id_in(const check_definition& d) {
  const auto prefix = std::string_view(d.id).substr(0, service_maintenance_prefix.size());
  if (!d.maintenance && (same_id(d.id, liveness_check) || same_id(d.id, node_maintenance_id) ||
                         same_id(prefix, service_maintenance_prefix)))
    return "CheckID " + go_compat::quoted(d.id) + " is reserved";
  return std::nullopt;
}

std::optional<std::string> local_agent::reserved_id_in(const service_definition& d) const {
  if (settings_.server && same_id(d.service.id, server_service))
    return "ServiceID " + go_compat::quoted(d.service.id) + " is reserved";
  for (const auto& c : d.checks)
    if (auto why = reserved_id_in(c))
      return why;
  return std::nullopt;
}

void local_agent::add_service(service_definition d, bool replace, origin from, local_time now) {
  name_checks(d);
  registry_.spell_as_registered(d);
  const auto id = d.service.id;
  const auto checks = d.checks;
  std::vector<std::string> before;
  registry_.for_each_check([&](const std::string& check_id, const local_registry::check_entry& c) {
    if (c.row->service_id == id)
      before.push_back(check_id);
  });
  registry_.add_service(std::move(d), replace, from);
  touched_.push_back({true, id});
  store_service(id);
  for (const auto& check_id : before)
    if (registry_.check(check_id) == nullptr) {
      schedule_.end(check_id);
      forget({false, check_id});
    }
  for (const auto& c : checks) {
    schedule_.begin(c.id, c, now);
    touched_.push_back({false, c.id});
    store_check(c.id, true);
  }
}

status local_agent::add_check(check_definition d, origin from, local_time now) {
  registry_.spell_as_registered(d);
  const auto id = d.id;
  if (auto s = registry_.add_check(std::move(d), from); !s)
    return s;
  schedule_.begin(id, registry_.check(id)->definition, now);
  touched_.push_back({false, id});
  store_check(id, true);
  return done{};
}

bool local_agent::remove_service(const std::string& id_or_name) {
  const auto id = registry_.registered_service_id(id_or_name);
  std::vector<std::string> checks;
  registry_.for_each_check([&](const std::string& check_id, const local_registry::check_entry& c) {
    if (c.row->service_id == id)
      checks.push_back(check_id);
  });
  if (!registry_.remove_service(id))
    return false;
  for (const auto& check_id : checks) {
    schedule_.end(check_id);
    forget({false, check_id});
  }
  forget({true, id});
  return true;
}

bool local_agent::remove_check(const std::string& id_or_name) {
  const auto id = registry_.registered_check_id(id_or_name);
  if (!registry_.remove_check(id))
    return false;
  schedule_.end(id);
  forget({false, id});
  return true;
}

status local_agent::add_configured(service_definition d, local_time now) {
  if (auto why = complete(d))
    return failure{*why};
  for (const auto& c : d.checks)
    if (auto why = refusal_of(c, settings_.scripts_from_files, origin::configuration))
      return failure{*why};
  name_checks(d);
  if (auto why = reserved_id_in(d))
    return failure{*why};
  configured_.services.insert_or_assign(d.service.id, d);
  add_service(std::move(d), true, origin::configuration, now);
  registry_.refresh_aliases();
  return done{};
}

status local_agent::add_configured(check_definition d, local_time now) {
  if (auto why = complaint_of(d))
    return failure{*why};
  if (auto why = refusal_of(d, settings_.scripts_from_files, origin::configuration))
    return failure{*why};
  if (auto why = reserved_id_in(d))
    return failure{*why};
  auto added = add_check(d, origin::configuration, now);
  if (added)
    configured_.checks.insert_or_assign(d.id, std::move(d));
  registry_.refresh_aliases();
  return added;
}

bool local_agent::restore(stored_service s) {
  service_definition d{std::move(s.service), {}, std::move(s.token)};
  if (registry_.service(d.service.id) != nullptr || reserved_id_in(d))
    return false;
  registry_.add_service(std::move(d), false, origin::api);
  return true;
}

bool local_agent::restore(stored_check c, local_time now) {
  registry_.spell_as_registered(c.definition);
  const auto id = c.definition.id;
  if (registry_.check(id) != nullptr || reserved_id_in(c.definition) ||
      refusal_of(c.definition, settings_.scripts_from_api, origin::api))
    return false;
  // Until its status is known, no traffic goes to a service that may be down (like Consul).
  if (!c.definition.maintenance)
    c.definition.status = "critical";
  if (!registry_.add_check(c.definition, origin::api))
    return false;
  schedule_.begin(id, c.definition, now);
  // 0.2.0 kept what the check wanted to keep. A remark behind the output is not output.
  constexpr std::size_t remark_bytes_max = 128;
  const auto limit = static_cast<std::size_t>(registry_.output_limit(c.definition)) + remark_bytes_max;
  if (c.output.size() > limit)
    c.output = registry_.shown_output(id, c.output);
  if (c.valid_ns > 0)
    registry_.set_status(id, c.status, c.output, now);
  return true;
}

// ---- the disk

void local_agent::store_service(const std::string& id) {
  const auto* s = registry_.service(id);
  if (s != nullptr && s->from == origin::api)
    stored_.push_back({{true, id}, stored_service{*s->row, s->token}, true});
}

void local_agent::store_check(const std::string& id, bool durable) {
  const auto* c = registry_.check(id);
  if (c != nullptr && c->from == origin::api)
    stored_.push_back(
        {{false, id}, stored_check{c->definition, c->row->status, c->row->output, c->definition.ttl_ns}, durable});
}

void local_agent::forget(item what) {
  touched_.push_back(what);
  forget_stored(std::move(what));
}

agent_counts local_agent::counts() const {
  agent_counts n;
  n.services = static_cast<std::uint32_t>(registry_.services().size());
  registry_.for_each_check([&](const std::string&, const local_registry::check_entry& c) {
    const auto kind = kind_of(c.definition);
    ++n.checks;
    n.ttls += kind == check_kind::ttl ? 1 : 0;
    n.monitors += kind == check_kind::script ? 1 : 0;
  });
  return n;
}

// ---- time

std::vector<local_agent::probe> local_agent::tick(local_time now) {
  auto due = schedule_.due(now);
  for (const auto& e : due.expired) {
    registry_.set_status(e.id, MUTANT(expired_check_passes) ? "passing" : "critical", e.output, now);
    touched_.push_back({false, e.id});
  }
  if (!next_reap_ || *next_reap_ <= now) {
    reap(now);
    next_reap_ = now + reap_interval;
  }
  registry_.refresh_aliases();
  std::vector<probe> probes;
  for (auto& r : due.runs)
    if (const auto* c = registry_.check(r.id)) {
      probes.push_back({std::move(r), c->definition});
      auto& d = probes.back().definition;
      d.output_bytes_max = registry_.output_limit(d);
    }
  return probes;
}

void local_agent::reap(local_time now) {
  std::set<std::string> dead;
  registry_.for_each_check([&](const std::string&, const local_registry::check_entry& c) {
    if (c.definition.deregister_after_ns <= 0 || c.row->service_id.empty() || !c.critical_since)
      return;
    const auto after = std::max<local_time>(local_time{c.definition.deregister_after_ns}, deregister_after_min);
    if (now - *c.critical_since > after)
      dead.insert(c.row->service_id);
  });
  for (const auto& id : dead)
    remove_service(id);
}

void local_agent::finished(const check_schedule::run& r, std::string_view status, std::string_view output,
                           local_time now) {
  if (!schedule_.finished(r, status, now) || (status == "critical" && MUTANT(failed_probe_ignored)))
    return;
  registry_.set_status(r.id, status, output, now); // the probe truncated it, keeping the end
  registry_.refresh_aliases();
  touched_.push_back({false, r.id});
}

} // namespace belay::agent
