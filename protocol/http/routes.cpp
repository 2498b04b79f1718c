#include "protocol/http/routes.hpp"

namespace belay::http {

namespace {

struct method_name {
  std::string_view name;
  method bit;
};
// In the order of the Allow header.
constexpr method_name method_names[] = {
    {"GET", method_get}, {"POST", method_post}, {"PUT", method_put}, {"DELETE", method_delete}};

// kv first: it is asked for most.
// path, methods, name, handler, body
constexpr route routes[] = {
    {"/v1/kv/", method_get | method_put | method_delete, "kv", kv_route, body_rule::value},
    {"/v1/txn", method_put, "txn", txn_route, body_rule::transaction},
    {"/v1/session/create", method_put, "session_create", session_create_route},
    {"/v1/session/destroy/", method_put, "session_destroy", session_destroy_route},
    {"/v1/session/renew/", method_put, "session_renew", session_renew_route},
    {"/v1/session/info/", method_get, "session_info", session_info_route},
    {"/v1/session/node/", method_get, "session_node", session_node_route},
    {"/v1/session/list", method_get, "session_list", session_list_route},
    {"/v1/status/leader", method_get, "status_leader", status_leader_route},
    {"/v1/status/peers", method_get, "status_peers", status_peers_route},
    {"/v1/catalog/register", method_put, "catalog_register", catalog_register_route},
    {"/v1/catalog/deregister", method_put, "catalog_deregister", catalog_deregister_route},
    {"/v1/catalog/datacenters", method_get, "catalog_datacenters", catalog_datacenters_route},
    {"/v1/catalog/nodes", method_get, "catalog_nodes", catalog_nodes_route},
    {"/v1/catalog/services", method_get, "catalog_services", catalog_services_route},
    {"/v1/catalog/service/", method_get, "catalog_service", catalog_service_route},
    {"/v1/catalog/node/", method_get, "catalog_node", catalog_node_route},
    {"/v1/health/node/", method_get, "health_node", health_node_route},
    {"/v1/health/checks/", method_get, "health_checks", health_checks_route},
    {"/v1/health/state/", method_get, "health_state", health_state_route},
    {"/v1/health/service/", method_get, "health_service", health_service_route},
    {"/v1/agent/self", method_get, "agent_self", agent_self_route},
    {"/v1/agent/members", method_get, "agent_members", agent_members_route},
    {"/v1/agent/metrics", method_get, "agent_metrics", agent_metrics_route},
    {"/v1/agent/live", method_get, "agent_live", agent_live_route},
    {"/v1/agent/ready", method_get, "agent_ready", agent_ready_route},
    {"/v1/agent/reload", method_put, "agent_reload", agent_reload_route},
    {"/v1/agent/services", method_get, "agent_services", agent_services_route},
    {"/v1/agent/service/", method_get, "agent_service", agent_service_route},
    {"/v1/agent/service/register", method_put, "agent_service_register", agent_service_register_route},
    {"/v1/agent/service/deregister/", method_put, "agent_service_deregister", agent_service_deregister_route},
    {"/v1/agent/service/maintenance/", method_put, "agent_service_maintenance", agent_service_maintenance_route},
    {"/v1/agent/health/service/id/", method_get, "agent_health_id", agent_health_id_route},
    {"/v1/agent/health/service/name/", method_get, "agent_health_name", agent_health_name_route},
    {"/v1/agent/maintenance", method_put, "agent_maintenance", agent_maintenance_route},
    {"/v1/agent/checks", method_get, "agent_checks", agent_checks_route},
    {"/v1/agent/check/register", method_put, "agent_check_register", agent_check_register_route},
    {"/v1/agent/check/deregister/", method_put, "agent_check_deregister", agent_check_deregister_route},
    {"/v1/agent/check/pass/", method_put, "agent_check_pass", agent_check_pass_route},
    {"/v1/agent/check/warn/", method_put, "agent_check_warn", agent_check_warn_route},
    {"/v1/agent/check/fail/", method_put, "agent_check_fail", agent_check_fail_route},
    {"/v1/agent/check/update/", method_put, "agent_check_update", agent_check_update_route},
    {"/v1/event/fire/", method_put, "event_fire", event_fire_route},
    {"/v1/event/list", method_get, "event_list", event_list_route},
    {"/v1/snapshot", method_get | method_put, "snapshot", snapshot_route, body_rule::archive},
    {"/v1/operator/raft/configuration", method_get, "raft_configuration", raft_configuration_route},
    {"/v1/operator/raft/peer", method_delete | method_put, "raft_peer", raft_peer_route},
    {"/v1/operator/autopilot/configuration", method_get | method_put, "autopilot_configuration",
     autopilot_configuration_route},
    {"/v1/operator/autopilot/health", method_get, "autopilot_health", autopilot_health_route},
    {"/v1/operator/keyring", method_get | method_post | method_put | method_delete, "keyring", keyring_route},
};

bool covers(std::string_view pattern, std::string_view path) {
  if (pattern.back() != '/')
    return path == pattern;
  return path.substr(0, pattern.size()) == pattern;
}

} // namespace

std::string route::allow() const {
  std::string out = "OPTIONS";
  for (const auto& m : method_names)
    if ((methods & m.bit) != 0)
      out.append(",").append(m.name);
  return out;
}

unsigned method_bit(std::string_view name) {
  for (const auto& m : method_names)
    if (m.name == name)
      return m.bit;
  return 0;
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

bool is_prefix_without_slash(std::string_view path) {
  for (const auto& r : routes)
    if (r.pattern.size() == path.size() + 1 && r.pattern.back() == '/' && r.pattern.substr(0, path.size()) == path)
      return true;
  return false;
}

} // namespace belay::http
