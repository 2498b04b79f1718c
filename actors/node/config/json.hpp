#pragma once
// JSON text of a configuration, with complaints in the words Consul's users search for.

#include "protocol/base/result.hpp"

#include <boost/json/object.hpp>

#include <string>
#include <string_view>

namespace belay::actors {

/// @returns the object; or Go's complaint, e.g. `invalid character 'b' looking for beginning of object key string`.
/// What follows the first value is not looked at, as Consul does not.
result<boost::json::object> parse_config_json(std::string_view text);

} // namespace belay::actors
