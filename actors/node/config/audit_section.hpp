#pragma once
// The section `audit`: whether there is an audit log, and its one sink.

#include "actors/node/config/node_config.hpp"

#include <boost/json/object.hpp>

#include <string>

namespace belay::actors {

/// @param merged checked; decoded into `c`
/// @returns empty, or what is wrong with it. A section that is not enabled must be right, too.
std::string decode_audit(const boost::json::object& merged, node_config& c);

} // namespace belay::actors
