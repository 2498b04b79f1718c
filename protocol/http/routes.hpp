#pragma once
// Which path is served by what, and by which methods (contract 01 section 2 to 4).

#include "protocol/http/request_context.hpp"

namespace belay::http {

enum method : unsigned { method_get = 1, method_put = 2, method_delete = 4 };

struct route {
  std::string_view pattern; ///< with a trailing slash: everything below it, too
  unsigned methods = 0;
  std::string_view allow; ///< the Allow header
  std::string_view name;  ///< for metrics
  route_handler handle = nullptr;
};

/// The route with the longest pattern that covers the path; null: unknown path.
const route* find_route(std::string_view path);
/// `path` lacks the trailing slash of a pattern.
bool is_prefix_without_slash(std::string_view path);

action kv_route(request_context& c);
action txn_route(request_context& c);
action session_create_route(request_context& c);
action session_destroy_route(request_context& c);
action session_renew_route(request_context& c);
action session_info_route(request_context& c);
action session_node_route(request_context& c);
action session_list_route(request_context& c);
action status_leader_route(request_context& c);
action status_peers_route(request_context& c);
action catalog_register_route(request_context& c);
action catalog_deregister_route(request_context& c);
action catalog_datacenters_route(request_context& c);
action catalog_nodes_route(request_context& c);
action catalog_services_route(request_context& c);
action catalog_service_route(request_context& c);
action catalog_node_route(request_context& c);
action health_node_route(request_context& c);
action health_checks_route(request_context& c);
action health_state_route(request_context& c);
action health_service_route(request_context& c);
action agent_self_route(request_context& c);
action agent_members_route(request_context& c);
action agent_metrics_route(request_context& c);
action agent_reload_route(request_context& c);
action raft_configuration_route(request_context& c);
action raft_peer_route(request_context& c);
action autopilot_configuration_route(request_context& c);
action autopilot_health_route(request_context& c);
action snapshot_route(request_context& c);

} // namespace belay::http
