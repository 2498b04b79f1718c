#pragma once
// Converts the configuration to the settings of a node's actors.

#include "actors/agent/health_checks.hpp"
#include "actors/consensus/raft_peer.hpp"
#include "actors/gateway/http_gateway.hpp"
#include "actors/node/config/node_config.hpp"
#include "actors/node/disk/data_directory.hpp"
#include "actors/tables/fsm.hpp"

namespace belay::actors {

/// Time of the wall clock, since 1970.
std::int64_t wall_ns();
cluster_time wall_clock();

/// Address of a peer to join; without a port it gets Consul's for servers.
std::string with_port(const std::string& address);

fsm_settings machine_settings_of(const node_config& config);
raft::member member_of(const node_config& config, const identity& who);
raft_peer_settings peer_settings_of(const node_config& config, const identity& who);
health_checks_settings agent_settings_of(const node_config& config);
/// The networks to which HTTP checks may connect; null: all.
std::shared_ptr<const std::vector<std::string>> networks_of_http_checks(const node_config& config);
/// All settings except those of the process: tokens, files, callbacks, seeds.
gateway_settings gateway_settings_of(const node_config& config, const identity& who);

} // namespace belay::actors
