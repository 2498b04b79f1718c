#pragma once
// The parsed text of one configuration source: values and their locations.

#include "actors/node/config/source_locations.hpp"

#include <boost/json/object.hpp>

#include <string>
#include <variant>

namespace belay::actors {

struct config_text {
  boost::json::object values;
  file_locations locations;
};

/// Why a text could not be parsed.
struct config_text_error {
  std::string text;
  file_location at; ///< not known if `text` contains it
};

using config_text_result = std::variant<config_text, config_text_error>;

} // namespace belay::actors
