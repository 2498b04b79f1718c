#pragma once
// Decodes services and checks of a configuration: `service`, `services`, `check`, `checks`.

#include "actors/node/config/decoder.hpp"
#include "actors/node/config/node_config.hpp"

namespace belay::actors {

/// Takes them from a merged configuration. An error is reported at the beginning of its definition.
/// @pre c.enable_script_checks and the other settings of script checks are decoded
void decode_definitions(config_decoder& d, node_config& c);

} // namespace belay::actors
