#pragma once
// Formats answers about this node and its cluster: status, agent, operator (docs/contract/06,
// docs/contract/09, docs/contract/12). local_questions decides which actor provides them.

#include "actors/messages.hpp"
#include "actors/telemetry/metrics.hpp"
#include "protocol/acl/authorizer.hpp"
#include "protocol/agent/client_agents.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace belay::actors {

/// Facts about this node. Fixed while the process runs.
struct local_facts {
  std::string node_name;
  std::string node_uuid; ///< 36 characters
  std::string datacenter = "dc1";
  std::string version = "1.8.7"; ///< version of Consul's API, compared by clients
  std::string revision;          ///< commit of this program
  std::string address;           ///< advertised IP address
  std::uint16_t server_port = 8300;
  std::uint16_t serf_wan_port = 8302; ///< only shown
  bool server = true;                 ///< otherwise a client agent
  bool bootstrap = false;             ///< a cluster of one
  int bootstrap_expect = 0;
  bool read_replica = false; ///< a server without a vote
  bool acl_enabled = false;
  bool coordinates_disabled = false;
  /// Members of DebugConfig: name and JSON value, in the order to show.
  std::vector<std::pair<std::string, std::string>> effective_settings;
};

/// The catalog's rows about members.
struct known_members {
  std::vector<agent::client_agent> agents;      ///< members that are not servers
  std::vector<state::service_instance> servers; ///< instances of agent::server_service, with their checks
};

/// "host:port" of the leader's server port, or empty.
std::string leader_address(const cluster_view& view);

/// Answers most kinds. Others answer agent_metrics, agent_monitor, agent_host, agent_reload,
/// agent_leave, agent_token and translate_rules. The leader decides remove_peer, add_peer,
/// force_leave and autopilot_health. raft_peer answers agent_join, and all members answer keyring.
/// @param may permissions of a caller that requests members; null: everything
http::response answer_local(const http::local_request& request, const status_result& now, const local_facts& facts,
                            const http::render_options& options, const acl::authorizer* may = nullptr,
                            const known_members& known = {});
/// Answers agent_live and agent_ready: 200, or 503 with the reason.
http::response answer_health(const http::local_request& request, const status_result& now,
                             const http::render_options& options);

/// Answers remove_peer, add_peer, force_leave and autopilot_health with the leader's response,
/// and agent_join and keyring with raft_peer's; moves the texts out of `r`.
http::response answer_decided(const http::local_request& request, write_result& r, const http::render_options& options);
/// Answers agent_metrics. `now`: seconds since 1970
/// @param old_names as for metrics::json()
http::response answer_metrics(const http::local_request& request, const metrics& m, std::string_view prefix,
                              bool old_names, std::int64_t now, const http::render_options& options);

} // namespace belay::actors
