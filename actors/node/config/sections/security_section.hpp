#pragma once
// How peers and clients of HTTPS know each other: `encrypt`, `verify_...`, `tls_...`, and the files of certificates, which are opened.

#include "actors/node/config/decoder.hpp"
#include "actors/node/config/node_config.hpp"

#include <string>
#include <vector>

namespace belay::actors {

/// @pre c.datacenter and the listeners are decoded
void decode_security(config_decoder& d, node_config& c, std::vector<std::string>& warnings);

} // namespace belay::actors
