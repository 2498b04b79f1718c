#pragma once
// JSON text of a configuration, with complaints in the words Consul's users search for; and values found by their path.

#include "actors/node/config/text.hpp"

#include <string_view>

namespace belay::actors {

/// @returns what it says; or Go's complaint, e.g. `invalid character 'b' looking for beginning of object key string`.
/// An empty text says nothing, as in Consul; one of blanks is an error, and so is anything but blanks after the value.
config_text_result parse_config_json(std::string_view text);

/// The value at a path such as `ports.http`; nullptr if there is none.
const boost::json::value* value_at(const boost::json::object& config, std::string_view path);

} // namespace belay::actors
