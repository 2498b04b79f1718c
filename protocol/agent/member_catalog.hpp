#pragma once
// What the leader maintains in the catalog for every server: its node,
// the service "consul", the check "serfHealth" (docs/contract/08).

#include "protocol/state/queries.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::agent {

inline constexpr std::string_view server_service = "consul", liveness_check = "serfHealth";

struct cluster_member {
  std::string uuid, name, address; ///< address without the port
  std::int64_t port = 0;
  std::optional<bool> alive; ///< nullopt: the leader does not know yet
};

/// `server_address`: host:port.
cluster_member member_of(std::string uuid, std::string name, const std::string& server_address,
                         std::optional<bool> alive);

/// Its node.
state::node_record node_of(const cluster_member& m, const std::string& datacenter);
/// Its node and the check alone. @pre m.alive
state::catalog_register liveness_registration(const cluster_member& m, const std::string& datacenter);
/// All three rows. @pre m.alive
state::catalog_register registration_of(const cluster_member& m, const std::string& datacenter);

struct member_rows {
  std::vector<state::node_ptr> nodes;             ///< all of them
  std::vector<state::service_instance> instances; ///< instances of server_service, with their checks
};

/// Whether a cluster's leader registered it as a server. The service
/// without the check was registered by a client, and is the client's.
bool is_server(const state::service_instance& i);
/// Whether the catalog shows that server alive.
/// @param servers instances of server_service
/// @returns nullopt: it is missing
std::optional<bool> shown_alive(const std::vector<state::service_instance>& servers, std::string_view uuid);

/// Commands, in order, that make the catalog agree with the cluster: remove former
/// members with all they have; register members as passing or critical. A member whose
/// health is unknown yet is neither registered nor removed. Empty: no difference.
std::vector<state::command> member_changes(const std::vector<cluster_member>& members, const member_rows& found,
                                           const std::string& datacenter);

} // namespace belay::agent
