#pragma once
// The table of routes: for each path its handler, methods, permissions and body size
// (docs/contract/01, sections 2 to 4; docs/contract/10, section 3). It is the only place for them.

#include "protocol/http/access_rule.hpp"
#include "protocol/http/request_context.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::http {

enum method : unsigned { method_get = 1, method_put = 2, method_delete = 4, method_post = 8 };

/// Limit of a body; the sizes are in body_limits.cpp.
enum class body_rule : std::uint8_t {
  usual,
  value,       ///< value of a key, for PUT
  transaction, ///< and the values in it
  archive,     ///< for PUT: of any size, passed on as it arrives
};

/// Max occurrences of parameters of which each one counts; of others
/// only the first counts. Consul has no limit; clients use a handful.
struct parameter_bound {
  std::string_view name;
  std::size_t times_max = 0;
};
std::span<const parameter_bound> parameter_bounds();
/// Limit for all names together.
inline constexpr std::size_t parameters_max = 512;

struct route {
  std::string_view pattern; ///< with a trailing slash: everything below it, too
  unsigned methods = 0;     ///< bits of enum method
  std::string_view name;    ///< for metrics
  access_rule access;       ///< no default: each route must state it
  route_handler handle = nullptr;
  body_rule body = body_rule::usual;

  /// The Allow header.
  std::string allow() const;
  /// Permission for a request with that method. `bit`: of enum method.
  http::access needs(unsigned bit) const;
};

/// All routes, for documents and tests.
std::span<const route> all_routes();
/// The route's methods, in the order of the Allow header.
std::vector<std::string_view> method_names_of(const route& r);
/// 0: none of those above.
unsigned method_bit(std::string_view name);
/// Whether a client agent handles it itself; it forwards all others to servers.
bool answered_by_client_agent(const route& r);
/// How `?cached` is handled (docs/contract/06, section 2).
enum class caching : std::uint8_t { none, simple, refreshed };
caching caching_of(const route& r);
/// The part of a request's target with path and query, without the scheme and authority of the
/// absolute form. Empty: it has no path.
std::string_view local_part(std::string_view target);
/// The route with the longest pattern that covers the path; null: unknown path.
const route* find_route(std::string_view path);
/// Whether the rest of the path is an agent's ID, which is not cleaned: `/svc`, `a//b`. Consul
/// redirects to the clean path, so such a service cannot be removed (docs/contract/09, section 3).
bool takes_any_id(const route& r, std::string_view path);
/// Whether unknown `path` only lacks the trailing slash of a pattern.
bool is_prefix_without_slash(std::string_view path);

/// `?wait` for blocking agent reads: at most and by default ten minutes (docs/contract/09, 13).
refused read_wait(const request_context& c, std::chrono::nanoseconds& out);

action kv_route(request_context& c);
action txn_route(request_context& c);
action session_create_route(request_context& c);
action session_destroy_route(request_context& c);
action session_renew_route(request_context& c);
action session_renew_list_route(request_context& c);
action session_ended_route(request_context& c);
action session_info_route(request_context& c);
action session_node_route(request_context& c);
action session_list_route(request_context& c);
action claim_route(request_context& c);
action claims_route(request_context& c);
action claims_graph_route(request_context& c);
action guard_route(request_context& c);
action guards_route(request_context& c);
action outcome_route(request_context& c);
action status_leader_route(request_context& c);
action status_peers_route(request_context& c);
action catalog_register_route(request_context& c);
action catalog_deregister_route(request_context& c);
action catalog_datacenters_route(request_context& c);
action catalog_nodes_route(request_context& c);
action catalog_services_route(request_context& c);
action catalog_service_route(request_context& c);
action catalog_mesh_route(request_context& c);
action catalog_gateway_route(request_context& c);
action catalog_node_route(request_context& c);
action catalog_node_services_route(request_context& c);
action health_node_route(request_context& c);
action health_checks_route(request_context& c);
action health_state_route(request_context& c);
action health_mesh_route(request_context& c);
action health_service_route(request_context& c);
action coordinate_datacenters_route(request_context& c);
action coordinate_nodes_route(request_context& c);
action coordinate_node_route(request_context& c);
action coordinate_update_route(request_context& c);
action agent_self_route(request_context& c);
action agent_members_route(request_context& c);
action agent_metrics_route(request_context& c);
action agent_live_route(request_context& c);
action agent_ready_route(request_context& c);
action agent_reload_route(request_context& c);
action agent_monitor_route(request_context& c);
action agent_host_route(request_context& c);
action agent_leave_route(request_context& c);
action agent_join_route(request_context& c);
action agent_force_leave_route(request_context& c);
action agent_services_route(request_context& c);
action agent_service_route(request_context& c);
action agent_service_register_route(request_context& c);
action agent_service_deregister_route(request_context& c);
action agent_service_maintenance_route(request_context& c);
action agent_health_id_route(request_context& c);
action agent_health_name_route(request_context& c);
action agent_maintenance_route(request_context& c);
action agent_checks_route(request_context& c);
action agent_check_register_route(request_context& c);
action agent_check_deregister_route(request_context& c);
action agent_check_pass_route(request_context& c);
action agent_check_warn_route(request_context& c);
action agent_check_fail_route(request_context& c);
action agent_check_update_route(request_context& c);
action event_fire_route(request_context& c);
action event_list_route(request_context& c);
action raft_configuration_route(request_context& c);
action raft_peer_route(request_context& c);
action autopilot_configuration_route(request_context& c);
action autopilot_health_route(request_context& c);
action keyring_route(request_context& c);
action snapshot_route(request_context& c);
action acl_bootstrap_route(request_context& c);
action acl_policies_route(request_context& c);
action acl_policy_route(request_context& c);
action acl_policy_id_route(request_context& c);
action acl_policy_name_route(request_context& c);
action acl_roles_route(request_context& c);
action acl_role_route(request_context& c);
action acl_role_id_route(request_context& c);
action acl_role_name_route(request_context& c);
action acl_tokens_route(request_context& c);
action acl_legacy_list_route(request_context& c);
action acl_token_route(request_context& c);
action acl_token_id_route(request_context& c);
action acl_token_self_route(request_context& c);
action acl_replication_route(request_context& c);
action acl_translate_route(request_context& c);
action acl_translate_token_route(request_context& c);
action acl_authorize_route(request_context& c);
action agent_token_route(request_context& c);
action acl_rules_route(request_context& c);
action agent_alive_route(request_context& c);

} // namespace belay::http
