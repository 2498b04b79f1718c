#pragma once
// What the leader keeps in the catalog of every server: its node, the service "consul", the check "serfHealth"
// (docs/contract/08).

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
  std::optional<bool> alive; ///< nullopt: the leader cannot tell yet
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
  std::vector<state::service_instance> instances; ///< of server_service, with their checks
};

/// The leader of some cluster has registered it as a server: who has the service without the check was registered by a
/// client, whose business it is.
bool is_server(const state::service_instance& i);
/// What the catalog says of the server with that UUID. @param servers instances of server_service
/// @returns nullopt: it is not there
std::optional<bool> shown_alive(const std::vector<state::service_instance>& servers, std::string_view uuid);

/// What has to be written, in this order, so that the catalog agrees with the cluster: servers that are no members any
/// more are removed with all they have; members are registered, passing or critical. A member of whom nobody knows yet
/// whether it is alive is neither registered nor removed. Empty: nothing to do.
std::vector<state::command> member_changes(const std::vector<cluster_member>& members, const member_rows& found,
                                           const std::string& datacenter);

} // namespace belay::agent
