#include "protocol/http/routes.hpp"

#include <algorithm>
#include <iterator>

namespace belay::http {

namespace {

struct method_name {
  std::string_view name;
  method bit;
};
// In the order of the Allow header.
constexpr method_name method_names[] = {
    {"GET", method_get}, {"POST", method_post}, {"PUT", method_put}, {"DELETE", method_delete}};

constexpr unsigned get_put_delete = method_get | method_put | method_delete;

/// Without ACLs, all requests about them are rejected.
template <route_handler Handler>
action with_acls(request_context& c) {
  return c.settings.acl_enabled ? Handler(c) : error_response(401, "ACL support disabled");
}

// kv first: it is requested most.
// path, methods, name, permission, handler, body
constexpr route routes[] = {
    {"/v1/kv/", get_put_delete, "kv", access::by_state, kv_route, body_rule::value},
    {"/v1/txn", method_put, "txn", access::by_state, txn_route, body_rule::transaction},
    {"/v1/session/create", method_put, "session_create", access::by_state, session_create_route},
    {"/v1/session/destroy/", method_put, "session_destroy", access::by_state, session_destroy_route},
    {"/v1/session/renew/", method_put, "session_renew", access::by_state, session_renew_route},
    {"/v1/session/renew", method_put, "session_renew_list", access::by_state, session_renew_list_route},
    {"/v1/session/ended/", method_get, "session_ended", access::by_state, session_ended_route},
    {"/v1/session/info/", method_get, "session_info", access::by_state, session_info_route},
    {"/v1/session/node/", method_get, "session_node", access::by_state, session_node_route},
    {"/v1/session/list", method_get, "session_list", access::by_state, session_list_route},
    {"/v1/claim/", get_put_delete, "claim", access::by_state, claim_route},
    {"/v1/claims", method_get, "claims", access::by_state, claims_route},
    {"/v1/claims/graph", method_get, "claims_graph", access::by_state, claims_graph_route},
    {"/v1/guard/", method_put | method_delete, "guard", access::by_state, guard_route},
    {"/v1/guards", method_get, "guards", access::by_state, guards_route},
    {"/v1/outcome/", get_put_delete, "outcome", access::by_state, outcome_route},
    {"/v1/status/leader", method_get, "status_leader", access::unrestricted, status_leader_route},
    {"/v1/status/peers", method_get, "status_peers", access::unrestricted, status_peers_route},
    {"/v1/catalog/register", method_put, "catalog_register", access::by_state, catalog_register_route},
    {"/v1/catalog/deregister", method_put, "catalog_deregister", access::by_state, catalog_deregister_route},
    {"/v1/catalog/datacenters", method_get, "catalog_datacenters", access::unrestricted, catalog_datacenters_route},
    {"/v1/catalog/nodes", method_get, "catalog_nodes", access::by_state, catalog_nodes_route},
    {"/v1/catalog/services", method_get, "catalog_services", access::by_state, catalog_services_route},
    {"/v1/catalog/service/", method_get, "catalog_service", access::by_state, catalog_service_route},
    {"/v1/catalog/connect/", method_get, "catalog_connect", access::by_state, catalog_mesh_route},
    {"/v1/catalog/gateway-services/", method_get, "catalog_gateway_services", access::by_state, catalog_gateway_route},
    {"/v1/catalog/node/", method_get, "catalog_node", access::by_state, catalog_node_route},
    {"/v1/catalog/node-services/", method_get, "catalog_node_services", access::by_state, catalog_node_services_route},
    {"/v1/health/node/", method_get, "health_node", access::by_state, health_node_route},
    {"/v1/health/checks/", method_get, "health_checks", access::by_state, health_checks_route},
    {"/v1/health/state/", method_get, "health_state", access::by_state, health_state_route},
    {"/v1/health/service/", method_get, "health_service", access::by_state, health_service_route},
    {"/v1/health/connect/", method_get, "health_connect", access::by_state, health_mesh_route},
    {"/v1/health/ingress/", method_get, "health_ingress", access::by_state, health_mesh_route},
    {"/v1/coordinate/datacenters", method_get, "coordinate_datacenters", access::unrestricted,
     coordinate_datacenters_route},
    {"/v1/coordinate/nodes", method_get, "coordinate_nodes", access::by_state, coordinate_nodes_route},
    {"/v1/coordinate/node/", method_get, "coordinate_node", access::by_state, coordinate_node_route},
    {"/v1/coordinate/update", method_put, "coordinate_update", access::coordinate_write, coordinate_update_route},
    {"/v1/agent/self", method_get, "agent_self", access::agent_read, agent_self_route},
    {"/v1/agent/members", method_get, "agent_members", access::members, agent_members_route},
    {"/v1/agent/metrics", method_get, "agent_metrics", access::agent_read, agent_metrics_route},
    {"/v1/agent/live", method_get, "agent_live", access::unrestricted, agent_live_route},
    {"/v1/agent/ready", method_get, "agent_ready", access::unrestricted, agent_ready_route},
    {"/v1/agent/reload", method_put, "agent_reload", access::agent_write, agent_reload_route},
    {"/v1/agent/monitor", method_get, "agent_monitor", access::agent_read, agent_monitor_route},
    {"/v1/agent/host", method_get, "agent_host", access::operator_read, agent_host_route},
    {"/v1/agent/leave", method_put, "agent_leave", access::agent_write, agent_leave_route},
    {"/v1/agent/join/", method_put, "agent_join", access::agent_write, agent_join_route},
    {"/v1/agent/force-leave/", method_put, "agent_force_leave", access::operator_write, agent_force_leave_route},
    {"/v1/agent/services", method_get, "agent_services", access::by_agent, agent_services_route},
    {"/v1/agent/service/", method_get, "agent_service", access::by_agent, agent_service_route},
    {"/v1/agent/service/register", method_put, "agent_service_register", access::by_agent,
     agent_service_register_route},
    {"/v1/agent/service/deregister/", method_put, "agent_service_deregister", access::by_agent,
     agent_service_deregister_route},
    {"/v1/agent/service/maintenance/", method_put, "agent_service_maintenance", access::by_agent,
     agent_service_maintenance_route},
    {"/v1/agent/health/service/id/", method_get, "agent_health_id", access::by_agent, agent_health_id_route},
    {"/v1/agent/health/service/name/", method_get, "agent_health_name", access::by_agent, agent_health_name_route},
    {"/v1/agent/maintenance", method_put, "agent_maintenance", access::node_write, agent_maintenance_route},
    {"/v1/agent/checks", method_get, "agent_checks", access::by_agent, agent_checks_route},
    {"/v1/agent/check/register", method_put, "agent_check_register", access::by_agent, agent_check_register_route},
    {"/v1/agent/check/deregister/", method_put, "agent_check_deregister", access::by_agent,
     agent_check_deregister_route},
    {"/v1/agent/check/pass/", method_put, "agent_check_pass", access::by_agent, agent_check_pass_route},
    {"/v1/agent/check/warn/", method_put, "agent_check_warn", access::by_agent, agent_check_warn_route},
    {"/v1/agent/check/fail/", method_put, "agent_check_fail", access::by_agent, agent_check_fail_route},
    {"/v1/agent/check/update/", method_put, "agent_check_update", access::by_agent, agent_check_update_route},
    {"/v1/event/fire/", method_put, "event_fire", access::by_agent, event_fire_route},
    {"/v1/event/list", method_get, "event_list", access::by_agent, event_list_route},
    {"/v1/snapshot", method_get | method_put, "snapshot", access::acl_write, snapshot_route, body_rule::archive},
    {"/v1/operator/raft/configuration", method_get, "raft_configuration", access::operator_read,
     raft_configuration_route},
    {"/v1/operator/raft/peer", method_delete | method_put, "raft_peer", access::operator_write, raft_peer_route},
    {"/v1/operator/autopilot/configuration", method_get | method_put, "autopilot_configuration",
     access_rule{access::operator_read, access::operator_write}, autopilot_configuration_route},
    {"/v1/operator/autopilot/health", method_get, "autopilot_health", access::operator_read, autopilot_health_route},
    {"/v1/operator/keyring", method_get | method_post | method_put | method_delete, "keyring",
     access_rule{access::keyring_read, access::keyring_write}, keyring_route},
    {"/v1/acl/bootstrap", method_put, "acl_bootstrap", access::unrestricted, with_acls<acl_bootstrap_route>},
    {"/v1/acl/policies", method_get, "acl_policies", access::by_state, with_acls<acl_policies_route>},
    {"/v1/acl/policy", method_put, "acl_policy", access::by_state, with_acls<acl_policy_route>},
    {"/v1/acl/policy/", get_put_delete, "acl_policy", access::by_state, with_acls<acl_policy_id_route>},
    {"/v1/acl/policy/name/", method_get, "acl_policy_name", access::by_state, with_acls<acl_policy_name_route>},
    {"/v1/acl/roles", method_get, "acl_roles", access::by_state, with_acls<acl_roles_route>},
    {"/v1/acl/role", method_put, "acl_role", access::by_state, with_acls<acl_role_route>},
    {"/v1/acl/role/", get_put_delete, "acl_role", access::by_state, with_acls<acl_role_id_route>},
    {"/v1/acl/role/name/", method_get, "acl_role_name", access::by_state, with_acls<acl_role_name_route>},
    {"/v1/acl/tokens", method_get, "acl_tokens", access::by_state, with_acls<acl_tokens_route>},
    {"/v1/acl/token", method_put, "acl_token", access::by_state, with_acls<acl_token_route>},
    {"/v1/acl/token/", get_put_delete, "acl_token", access::by_state, with_acls<acl_token_id_route>},
    {"/v1/acl/token/self", method_get, "acl_token_self", access::by_state, with_acls<acl_token_self_route>},
    {"/v1/acl/list", method_get, "acl_list", access::by_state, with_acls<acl_legacy_list_route>},
    {"/v1/acl/replication", method_get, "acl_replication", access::unrestricted, with_acls<acl_replication_route>},
    {"/v1/acl/rules/translate", method_post, "acl_translate", access::acl_read, with_acls<acl_translate_route>},
    {"/v1/acl/rules/translate/", method_get, "acl_translate", access::by_state, with_acls<acl_translate_token_route>},
    {"/v1/internal/acl/authorize", method_post, "acl_authorize", access::by_state, with_acls<acl_authorize_route>},
    {"/v1/agent/token/", method_put, "agent_token", access::agent_write, with_acls<agent_token_route>},
    {"/v1/internal/acl/rules", method_get, "acl_rules", access::by_state, with_acls<acl_rules_route>},
    {"/v1/internal/agent/alive", method_put | method_delete, "agent_alive", access::unrestricted, agent_alive_route},
};

// Each tag is compared with each instance; each prefix has an entry in the watch table.
constexpr parameter_bound bounds_of_parameters[] = {{"tag", 128}, {"node-meta", 128}, {"prefix", 64}, {"event", 64}};

bool covers(std::string_view pattern, std::string_view path) {
  if (pattern.back() != '/')
    return path == pattern;
  return path.substr(0, pattern.size()) == pattern;
}

} // namespace

std::vector<std::string_view> method_names_of(const route& r) {
  std::vector<std::string_view> out;
  for (const auto& m : method_names)
    if ((r.methods & m.bit) != 0)
      out.push_back(m.name);
  return out;
}

std::string route::allow() const {
  std::string out = "OPTIONS";
  for (const auto name : method_names_of(*this))
    out.append(",").append(name);
  return out;
}

http::access route::needs(unsigned bit) const {
  return bit == method_put      ? access.put
         : bit == method_delete ? access.remove
         : bit == method_post   ? access.post
                                : access.get;
}

std::span<const route> all_routes() {
  return routes;
}

std::span<const parameter_bound> parameter_bounds() {
  return bounds_of_parameters;
}

unsigned method_bit(std::string_view name) {
  for (const auto& m : method_names)
    if (m.name == name)
      return m.bit;
  return 0;
}

bool answered_by_client_agent(const route& r) {
  constexpr std::string_view of_agents = "/v1/agent/";
  constexpr std::string_view of_cluster[] = {"/v1/agent/members", "/v1/agent/force-leave/"};
  return r.pattern.starts_with(of_agents) &&
         std::find(std::begin(of_cluster), std::end(of_cluster), r.pattern) == std::end(of_cluster);
}

caching caching_of(const route& r) {
  constexpr std::string_view refreshed[] = {"catalog_services", "catalog_service", "catalog_connect",
                                            "health_service",   "health_connect",  "health_ingress"};
  if (std::find(std::begin(refreshed), std::end(refreshed), r.name) != std::end(refreshed))
    return caching::refreshed;
  return r.name == "catalog_datacenters" ? caching::simple : caching::none;
}

const route* find_route(std::string_view path) {
  if (covers(routes[0].pattern, path))
    return &routes[0];
  const route* found = nullptr;
  for (const auto& r : routes)
    if (covers(r.pattern, path) && (!found || r.pattern.size() > found->pattern.size()))
      found = &r;
  return found;
}

bool takes_any_id(const route& r, std::string_view path) {
  const bool of_agent = r.pattern.starts_with("/v1/agent/service/") || r.pattern.starts_with("/v1/agent/check/");
  return of_agent && r.methods == method_put && r.pattern.ends_with('/') && path.size() > r.pattern.size();
}

bool is_prefix_without_slash(std::string_view path) {
  for (const auto& r : routes)
    if (r.pattern.size() == path.size() + 1 && r.pattern.back() == '/' && r.pattern.substr(0, path.size()) == path)
      return true;
  return false;
}

} // namespace belay::http
