#pragma once
// Decodes authentication of peers and HTTPS clients: `encrypt`, `verify_...`, `tls_...`, files.

#include "actors/node/config/decoder.hpp"
#include "actors/node/config/node_config.hpp"

#include <string>
#include <vector>

namespace belay::actors {

/// @pre c.datacenter and the listeners are decoded
void decode_security(config_decoder& d, node_config& c, std::vector<std::string>& warnings);

} // namespace belay::actors
