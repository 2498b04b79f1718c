#include "protocol/agent/agent_permissions.hpp"

#include "protocol/agent/alias_health.hpp"
#include "protocol/base/overloaded.hpp"
#include "protocol/go_compat/quoting.hpp"

#include <string>
#include <vector>

namespace belay::agent {

namespace {

constexpr auto denied = "Permission denied";

refused no() {
  return {403, denied};
}

refused missing(std::string_view what, std::string_view name) {
  return {403, std::string(denied) + ": Missing " + std::string(what) + " on " + std::string(name)};
}

/// The checks of Consul's agent/acl.go (vetServiceRegister etc.), with its error texts.
class request_authorization {
public:
  request_authorization(const local_registry& registry, std::string_view node, const acl::authorizer& may)
      : registry_(registry), node_(node), may_(may) {}

  std::optional<refused> operator()(const register_service& r) const {
    auto d = r.definition;
    if (complete(d)) // it will be rejected for that
      return std::nullopt;
    name_checks(d);
    if (auto why = write_service(d.service.service))
      return why;
    if (const auto* before = registry_.service(d.service.id))
      if (auto why = write_service(before->row->service))
        return why;
    for (const auto& c : d.checks) { // their IDs may belong to another service
      if (auto why = replace_check(c.id))
        return why;
      if (auto why = read_aliased(c, d.service.id))
        return why;
    }
    return std::nullopt;
  }
  std::optional<refused> operator()(const deregister_service& r) const { return change_service(r.id); }
  std::optional<refused> operator()(const service_maintenance& r) const { return change_service(r.id); }
  std::optional<refused> operator()(const node_maintenance&) const {
    return may_.node_write(node_) ? std::nullopt : std::optional(no());
  }
  std::optional<refused> operator()(const register_check& r) const {
    const auto& d = r.definition;
    if (complaint_of(d)) // it will be rejected for that
      return std::nullopt;
    const auto* owner = d.service_id.empty() ? nullptr : registry_.service(d.service_id);
    if (auto why = owner != nullptr ? write_service(owner->row->service) : write_node())
      return why;
    if (auto why = read_aliased(d, {}))
      return why;
    return replace_check(d.id);
  }
  std::optional<refused> operator()(const deregister_check& r) const { return change_check(r.id); }
  std::optional<refused> operator()(const update_check& r) const { return change_check(r.id); }
  std::optional<refused> operator()(const fire_event& r) const {
    return may_.event_write(r.event.name) ? std::nullopt : std::optional(no());
  }
  std::optional<refused> operator()(const service_health& r) const {
    // A query by ID is authorized once the name is known; by name even if there is no such service.
    return r.by_id || may_.service_read(r.name) ? std::nullopt : std::optional(no());
  }
  std::optional<refused> operator()(const list_services&) const { return std::nullopt; }
  std::optional<refused> operator()(const list_checks&) const { return std::nullopt; }
  std::optional<refused> operator()(const read_service&) const { return std::nullopt; }
  std::optional<refused> operator()(const list_events&) const { return std::nullopt; }

private:
  /// An alias shows the health of its service and of that one's node to everybody who may read the
  /// alias, so registering it needs the permission to read both. A service that is not registered
  /// here counts by the name that its ID usually equals.
  /// @param written ID of the service that the same request registers: it may be written
  std::optional<refused> read_aliased(const check_definition& c, std::string_view written) const {
    if (kind_of(c) != check_kind::alias)
      return std::nullopt;
    const bool elsewhere = is_alias_elsewhere(c, node_);
    const auto node = elsewhere ? std::string_view(c.alias_node) : node_;
    if (!may_.node_read(node))
      return missing("node:read", node);
    if (c.alias_service.empty() || (!elsewhere && same_id(c.alias_service, written)))
      return std::nullopt;
    const auto* aliased = elsewhere ? nullptr : registry_.service(c.alias_service);
    const auto& name = aliased != nullptr ? aliased->row->service : c.alias_service;
    return may_.service_read(name) ? std::nullopt : std::optional(missing("service:read", name));
  }
  std::optional<refused> write_service(const std::string& name) const {
    return may_.service_write(name) ? std::nullopt : std::optional(missing("service:write", name));
  }
  std::optional<refused> write_node() const {
    return may_.node_write(node_) ? std::nullopt : std::optional(missing("node:write", node_));
  }
  std::optional<refused> write_check(const state::check_record& c) const {
    return c.service_name.empty() ? write_node() : write_service(c.service_name);
  }
  std::optional<refused> replace_check(const std::string& id) const {
    const auto* before = registry_.check(id);
    return before == nullptr ? std::nullopt : write_check(*before->row);
  }
  std::optional<refused> change_service(const std::string& id) const {
    const auto* s = registry_.service(id);
    // As Go prints the ID, which is a structure there.
    return s == nullptr ? refused{500, "Unknown service {" + go_compat::quoted(id) + " {}}"}
                        : write_service(s->row->service);
  }
  std::optional<refused> change_check(const std::string& id) const {
    const auto* c = registry_.check(id);
    return c == nullptr ? refused{500, "Unknown check " + go_compat::quoted(id)} : write_check(*c->row);
  }

  const local_registry& registry_;
  std::string_view node_;
  const acl::authorizer& may_;
};

void keep_checks(std::vector<state::check_ptr>& list, std::string_view node, const acl::authorizer& may) {
  std::erase_if(list, [&](const state::check_ptr& c) {
    return c->service_name.empty() ? !may.node_read(node) : !may.service_read(c->service_name);
  });
}

} // namespace

std::optional<refused> refusal_of(const request& r, const local_registry& registry, std::string_view node,
                                  const acl::authorizer& may) {
  return std::visit(request_authorization(registry, node, may), r);
}

void keep_visible(user_events::listing& events, const acl::authorizer& may) {
  std::erase_if(events.list, [&](const user_event& e) { return !may.event_read(e.name); });
  events.index = events.list.empty() ? 1 : index_of(events.list.back().id);
}

void keep_visible(reply& answer, std::string_view node, const acl::authorizer& may) {
  bool hidden = false;
  std::visit(overloaded{
                 [&](service_rows& found) {
                   std::erase_if(found.list,
                                 [&](const state::service_ptr& s) { return !may.service_read(s->service); });
                 },
                 [&](check_rows& found) { keep_checks(found.list, node, may); },
                 [&](const service_row& found) { hidden = !may.service_read(found.service->service); },
                 [&](const health_rows& found) {
                   // All rows are of one service, by name or by ID, so the first decides.
                   hidden = !found.list.empty() && !may.service_read(found.list.front().service->service);
                 },
                 [&](event_rows& found) { keep_visible(found.events, may); },
                 [](const auto&) {},
             },
             answer);
  if (hidden)
    answer = no();
}

} // namespace belay::agent
