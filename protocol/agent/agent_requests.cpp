// local_agent: requests of clients.

#include "protocol/agent/agent_permissions.hpp"
#include "protocol/agent/local_agent.hpp"
#include "protocol/base/hex.hpp"
#include "protocol/state/answer_size.hpp"
#include "protocol/state/row_hash.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace belay::agent {

namespace {

constexpr std::string_view default_reason(bool of_service) {
  return of_service
             ? "Maintenance mode is enabled for this service, but no reason was provided. This is a default message."
             : "Maintenance mode is enabled for this node, but no reason was provided. This is a default message.";
}

/// The checks of each of many services, grouped in one pass.
class checks_by_service {
public:
  explicit checks_by_service(const local_registry& registry) {
    for (auto& c : registry.checks())
      by_id_[c->service_id].push_back(std::move(c));
  }

  const std::vector<state::check_ptr>& of_node() const { return at(""); }
  const std::vector<state::check_ptr>& of_service(const std::string& id) const { return at(id); }

  /// The checks of a service together with those of the node itself, ordered by ID.
  std::vector<state::check_ptr> operator()(const std::string& service_id) const {
    const auto& own = at(service_id);
    const auto& of_node = at("");
    std::vector<state::check_ptr> list;
    list.reserve(own.size() + of_node.size());
    std::merge(own.begin(), own.end(), of_node.begin(), of_node.end(), std::back_inserter(list),
               [](const auto& a, const auto& b) { return a->check_id < b->check_id; });
    return list;
  }

private:
  const std::vector<state::check_ptr>& at(const std::string& service_id) const {
    static const std::vector<state::check_ptr> none;
    const auto it = by_id_.find(service_id);
    return it == by_id_.end() ? none : it->second;
  }

  std::unordered_map<std::string, std::vector<state::check_ptr>> by_id_;
};

} // namespace

std::string content_hash(const state::service_record& s) {
  return to_hex(state::row_hash(std::make_shared<const state::service_record>(s)));
}

std::optional<reply> local_agent::handle(const request& r, local_time now, bool no_longer, const acl::authorizer* may) {
  const auto& node = settings_.registry.node.node;
  if (may != nullptr)
    if (auto why = agent::refusal_of(r, registry_, node, *may))
      return *why;
  registry_.refresh_aliases(); // what was restored may be new to them
  auto answer = std::visit(
      [&](const auto& each) -> std::optional<reply> {
        using requested = std::decay_t<decltype(each)>;
        if constexpr (std::is_same_v<requested, read_service> || std::is_same_v<requested, list_events>)
          return read(each, no_longer, may);
        else
          return on(each, now);
      },
      r);
  registry_.refresh_aliases();
  if (may != nullptr && answer)
    keep_visible(*answer, node, *may);
  return answer;
}

reply local_agent::on(const list_services&, local_time) {
  return service_rows{registry_.services()};
}

reply local_agent::on(const list_checks&, local_time) {
  return check_rows{registry_.checks()};
}

std::optional<reply> local_agent::read(const read_service& r, bool no_longer, const acl::authorizer* may) const {
  const auto* s = registry_.service(r.id);
  if (s == nullptr)
    return refused{404, "unknown service ID: " + r.id};
  auto hash = content_hash(*s->row);
  const bool visible = may == nullptr || may->service_read(s->row->service);
  if (visible && !r.hash.empty() && r.hash == hash && !no_longer)
    return std::nullopt;
  return service_row{s->row, std::move(hash)};
}

reply local_agent::on(const service_health& r, local_time) {
  health_rows found;
  const checks_by_service checks_of(registry_);
  auto requested = registry_.services();
  std::erase_if(requested, [&](const auto& s) { return r.by_id ? !same_id(s->id, r.name) : s->service != r.name; });
  state::health_answer_size size;
  const auto of_node = state::shown_bytes(checks_of.of_node());
  for (const auto& s : requested)
    size.add_instance(of_node, state::shown_bytes(checks_of.of_service(s->id)));
  if (auto why = size.refusal())
    return refused{500, std::move(*why)};
  for (auto& s : requested) {
    auto checks = checks_of(s->id);
    auto status = aggregated(checks);
    found.list.push_back({std::move(status), std::move(s), std::move(checks)});
  }
  return found;
}

reply local_agent::on(const register_service& r, local_time now) {
  auto d = r.definition;
  if (auto why = complete(d))
    return refused{400, *why};
  for (const auto& c : d.checks)
    if (auto why = refusal_of(c, settings_.scripts_from_api, origin::api))
      return refused{500, *why};
  name_checks(d);
  if (auto why = reserved_id_in(d))
    return refused{400, *why};
  add_service(std::move(d), r.replace_existing_checks, origin::api, now);
  return accepted{};
}

reply local_agent::on(const deregister_service& r, local_time) {
  remove_service(r.id);
  return accepted{};
}

reply local_agent::on(const register_check& r, local_time now) {
  if (auto why = complaint_of(r.definition))
    return refused{400, "Invalid check: " + *why};
  if (auto why = refusal_of(r.definition, settings_.scripts_from_api, origin::api))
    return refused{500, *why};
  if (auto why = reserved_id_in(r.definition))
    return refused{400, *why};
  if (auto s = add_check(r.definition, origin::api, now); !s)
    return refused{500, s.error()};
  return accepted{};
}

reply local_agent::on(const deregister_check& r, local_time) {
  remove_check(r.id);
  return accepted{};
}

reply local_agent::on(const update_check& r, local_time now) {
  // Truncated before it is stored anywhere, the schedule included: a request may have megabytes.
  const auto id = registry_.registered_check_id(r.id);
  const auto output = registry_.shown_output(id, r.output);
  if (!schedule_.renew(id, output, now))
    return refused{500, "CheckID \"" + r.id + "\" does not have associated TTL"};
  registry_.set_status(id, r.status, output, now);
  touched_.push_back({false, id});
  store_check(id, false);
  return accepted{};
}

void local_agent::set_maintenance(check_definition d, bool enable, local_time now) {
  d.maintenance = true;
  d.status = "critical";
  if (!enable)
    remove_check(d.id);
  else if (registry_.check(d.id) == nullptr)
    (void)add_check(std::move(d), origin::api, now).ok();
}

reply local_agent::on(const service_maintenance& r, local_time now) {
  if (registry_.service(r.id) == nullptr)
    return refused{404, "No service registered with ID \"" + r.id + "\""};
  check_definition d;
  const auto id = registry_.registered_service_id(r.id);
  d.id = std::string(service_maintenance_prefix) + id;
  d.name = "Service Maintenance Mode";
  d.notes = r.reason.empty() ? default_reason(true) : r.reason;
  d.service_id = id;
  d.token = r.token;
  set_maintenance(std::move(d), r.enable, now);
  return accepted{};
}

reply local_agent::on(const node_maintenance& r, local_time now) {
  check_definition d;
  d.id = node_maintenance_id;
  d.name = "Node Maintenance Mode";
  d.notes = r.reason.empty() ? default_reason(false) : r.reason;
  d.token = r.token;
  set_maintenance(std::move(d), r.enable, now);
  return accepted{};
}

// ---- events

reply local_agent::on(const fire_event& r, local_time) {
  if (auto why = complaint_of(r.event))
    return refused{500, *why};
  auto e = r.event;
  events_.stamp(e);
  fired_.push_back(e);
  received(std::move(e));
  return event_fired{r.event};
}

bool local_agent::received(user_event e) {
  if (!events_.received(e))
    return false;
  if (concerns(e, settings_.registry.node.node, registry_.services()))
    events_.keep(std::move(e));
  return true;
}

std::optional<reply> local_agent::read(const list_events& r, bool no_longer, const acl::authorizer* may) const {
  auto found = events_.find(r.name);
  if (may != nullptr)
    keep_visible(found, *may);
  if (r.index != 0 && r.index == found.index && !no_longer)
    return std::nullopt;
  return event_rows{std::move(found)};
}

} // namespace belay::agent
