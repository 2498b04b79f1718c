#pragma once
// Decodes `bind_addr`, `advertise_addr`, `client_addr`, `addresses`, `ports`, `unix_sockets`.

#include "actors/node/config/decoder.hpp"
#include "actors/node/config/node_config.hpp"

namespace belay::actors {

/// Also reports conflicting addresses: two listeners on one endpoint.
/// @pre the role of the node and its joins are decoded
void decode_addresses(config_decoder& d, node_config& c, std::vector<std::string>& warnings);

} // namespace belay::actors
