#pragma once
// Decodes the sections of a configuration that need more than their values.

#include "actors/node/config/decoder.hpp"
#include "actors/node/config/node_config.hpp"

#include <string>
#include <vector>

namespace belay::actors {

/// `bind_addr`, `advertise_addr`, `client_addr`, `addresses`, `ports`, `unix_sockets`.
/// Also reports conflicting addresses: two listeners on one endpoint.
/// @pre the role of the node and its joins are decoded
void decode_addresses(config_decoder& d, node_config& c, std::vector<std::string>& warnings);
/// Authentication of peers and HTTPS clients: `encrypt`, `verify_...`, `tls_...`, files.
/// @pre c.datacenter and the listeners are decoded
void decode_security(config_decoder& d, node_config& c, std::vector<std::string>& warnings);
/// Services and checks: `service`, `services`, `check`, `checks`. An error is reported at the
/// beginning of its definition.
/// @pre c.enable_script_checks and the other settings of script checks are decoded
void decode_definitions(config_decoder& d, node_config& c);
/// `audit`: whether there is an audit log, and its one sink. A disabled section must be valid, too.
void decode_audit(config_decoder& d, node_config& c);

} // namespace belay::actors
