#pragma once
// Services and checks that a configuration defines: `service`, `services`, `check`, `checks`.

#include "actors/node/config/node_config.hpp"

#include <boost/json/object.hpp>

#include <string>

namespace belay::actors {

/// Takes them out of a merged configuration.
/// @returns empty, or what is wrong with one of them
std::string decode_definitions(const boost::json::object& merged, node_config& c);

} // namespace belay::actors
