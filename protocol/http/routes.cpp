#include "protocol/http/routes.hpp"

namespace belay::http {

namespace {

constexpr std::string_view get_only = "OPTIONS,GET", put_only = "OPTIONS,PUT", delete_only = "OPTIONS,DELETE",
                           get_or_put = "OPTIONS,GET,PUT";

// kv first: it is asked for most.
constexpr route routes[] = {
    {"/v1/kv/", method_get | method_put | method_delete, "OPTIONS,GET,PUT,DELETE", "kv", kv_route},
    {"/v1/txn", method_put, put_only, "txn", txn_route},
    {"/v1/session/create", method_put, put_only, "session_create", session_create_route},
    {"/v1/session/destroy/", method_put, put_only, "session_destroy", session_destroy_route},
    {"/v1/session/renew/", method_put, put_only, "session_renew", session_renew_route},
    {"/v1/session/info/", method_get, get_only, "session_info", session_info_route},
    {"/v1/session/node/", method_get, get_only, "session_node", session_node_route},
    {"/v1/session/list", method_get, get_only, "session_list", session_list_route},
    {"/v1/status/leader", method_get, get_only, "status_leader", status_leader_route},
    {"/v1/status/peers", method_get, get_only, "status_peers", status_peers_route},
    {"/v1/catalog/register", method_put, put_only, "catalog_register", catalog_register_route},
    {"/v1/catalog/deregister", method_put, put_only, "catalog_deregister", catalog_deregister_route},
    {"/v1/catalog/datacenters", method_get, get_only, "catalog_datacenters", catalog_datacenters_route},
    {"/v1/catalog/nodes", method_get, get_only, "catalog_nodes", catalog_nodes_route},
    {"/v1/catalog/services", method_get, get_only, "catalog_services", catalog_services_route},
    {"/v1/catalog/service/", method_get, get_only, "catalog_service", catalog_service_route},
    {"/v1/catalog/node/", method_get, get_only, "catalog_node", catalog_node_route},
    {"/v1/health/node/", method_get, get_only, "health_node", health_node_route},
    {"/v1/health/checks/", method_get, get_only, "health_checks", health_checks_route},
    {"/v1/health/state/", method_get, get_only, "health_state", health_state_route},
    {"/v1/health/service/", method_get, get_only, "health_service", health_service_route},
    {"/v1/agent/self", method_get, get_only, "agent_self", agent_self_route},
    {"/v1/agent/members", method_get, get_only, "agent_members", agent_members_route},
    {"/v1/agent/metrics", method_get, get_only, "agent_metrics", agent_metrics_route},
    {"/v1/agent/reload", method_put, put_only, "agent_reload", agent_reload_route},
    {"/v1/agent/services", method_get, get_only, "agent_services", agent_services_route},
    {"/v1/agent/service/", method_get, get_only, "agent_service", agent_service_route},
    {"/v1/agent/service/register", method_put, put_only, "agent_service_register", agent_service_register_route},
    {"/v1/agent/service/deregister/", method_put, put_only, "agent_service_deregister", agent_service_deregister_route},
    {"/v1/agent/service/maintenance/", method_put, put_only, "agent_service_maintenance",
     agent_service_maintenance_route},
    {"/v1/agent/health/service/id/", method_get, get_only, "agent_health_id", agent_health_id_route},
    {"/v1/agent/health/service/name/", method_get, get_only, "agent_health_name", agent_health_name_route},
    {"/v1/agent/maintenance", method_put, put_only, "agent_maintenance", agent_maintenance_route},
    {"/v1/agent/checks", method_get, get_only, "agent_checks", agent_checks_route},
    {"/v1/agent/check/register", method_put, put_only, "agent_check_register", agent_check_register_route},
    {"/v1/agent/check/deregister/", method_put, put_only, "agent_check_deregister", agent_check_deregister_route},
    {"/v1/agent/check/pass/", method_put, put_only, "agent_check_pass", agent_check_pass_route},
    {"/v1/agent/check/warn/", method_put, put_only, "agent_check_warn", agent_check_warn_route},
    {"/v1/agent/check/fail/", method_put, put_only, "agent_check_fail", agent_check_fail_route},
    {"/v1/agent/check/update/", method_put, put_only, "agent_check_update", agent_check_update_route},
    {"/v1/event/fire/", method_put, put_only, "event_fire", event_fire_route},
    {"/v1/event/list", method_get, get_only, "event_list", event_list_route},
    {"/v1/snapshot", method_get | method_put, get_or_put, "snapshot", snapshot_route},
    {"/v1/operator/raft/configuration", method_get, get_only, "raft_configuration", raft_configuration_route},
    {"/v1/operator/raft/peer", method_delete, delete_only, "raft_peer", raft_peer_route},
    {"/v1/operator/autopilot/configuration", method_get | method_put, get_or_put, "autopilot_configuration",
     autopilot_configuration_route},
    {"/v1/operator/autopilot/health", method_get, get_only, "autopilot_health", autopilot_health_route},
};

bool covers(std::string_view pattern, std::string_view path) {
  if (pattern.back() != '/')
    return path == pattern;
  return path.substr(0, pattern.size()) == pattern;
}

} // namespace

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
  if (find_route(path))
    return false;
  for (const auto& r : routes)
    if (r.pattern.size() == path.size() + 1 && r.pattern.back() == '/' && r.pattern.substr(0, path.size()) == path)
      return true;
  return false;
}

} // namespace belay::http
