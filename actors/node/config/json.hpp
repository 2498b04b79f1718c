#pragma once
// Parses JSON text of a configuration, with Go's error texts, as Consul's users know them.

#include "actors/node/config/text.hpp"

#include <string_view>

namespace belay::actors {

/// @returns values, or Go's error: `invalid character 'b' looking for beginning of object key
/// string`. Empty text sets nothing, as in Consul; only blanks are an error, as is trailing text.
config_text_result parse_config_json(std::string_view text);

/// The value at a path such as `ports.http`; nullptr if there is none.
const boost::json::value* value_at(const boost::json::object& config, std::string_view path);

} // namespace belay::actors
