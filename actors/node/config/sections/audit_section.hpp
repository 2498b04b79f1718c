#pragma once
// Decodes the section `audit`: whether there is an audit log, and its one sink.

#include "actors/node/config/decoder.hpp"
#include "actors/node/config/node_config.hpp"

namespace belay::actors {

/// A disabled section must be valid, too.
void decode_audit(config_decoder& d, node_config& c);

} // namespace belay::actors
