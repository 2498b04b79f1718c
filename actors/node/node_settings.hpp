#pragma once
// What the configuration says, as the actors of a node want to be told.

#include "actors/agent/health_checks.hpp"
#include "actors/consensus/raft_peer.hpp"
#include "actors/gateway/http_gateway.hpp"
#include "actors/node/config/node_config.hpp"
#include "actors/node/disk/data_directory.hpp"
#include "actors/tables/fsm.hpp"

namespace belay::actors {

/// Of the wall clock, since 1970.
std::int64_t wall_ns();
cluster_time wall_clock();

/// Of a peer to be joined, who may be named without a port: then it is Consul's for servers.
std::string with_port(const std::string& address);

fsm_settings machine_settings_of(const node_config& config);
raft::member member_of(const node_config& config, const identity& who);
raft_peer_settings peer_settings_of(const node_config& config, const identity& who);
health_checks_settings agent_settings_of(const node_config& config);
/// As asio_probes takes it. Null: everywhere.
std::shared_ptr<const std::vector<std::string>> networks_of_http_checks(const node_config& config);
/// All but what depends on the process: tokens, files, orders, seeds.
gateway_settings gateway_settings_of(const node_config& config, const identity& who);

} // namespace belay::actors
