#pragma once
// Where a node listens and what peers are told: `bind_addr`, `advertise_addr`, `client_addr`, `addresses`, `ports`, `unix_sockets`.

#include "actors/node/config/decoder.hpp"
#include "actors/node/config/node_config.hpp"

namespace belay::actors {

/// Addresses that contradict each other are told, too: two listeners at one place.
/// @pre the role of the node and whom it joins are decoded
void decode_addresses(config_decoder& d, node_config& c, std::vector<std::string>& warnings);

} // namespace belay::actors
