#pragma once
// Services and checks that a configuration defines: `service`, `services`, `check`, `checks`.

#include "actors/node/config/decoder.hpp"
#include "actors/node/config/node_config.hpp"

namespace belay::actors {

/// Takes them out of a merged configuration. What is wrong with one is noted at its beginning.
/// @pre c.enable_script_checks and its like are decoded
void decode_definitions(config_decoder& d, node_config& c);

} // namespace belay::actors
