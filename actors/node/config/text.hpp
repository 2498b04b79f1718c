#pragma once
// The parsed text of one configuration source: values and their locations.

#include "actors/node/config/places.hpp"

#include <boost/json/object.hpp>

#include <string>
#include <variant>

namespace belay::actors {

struct config_text {
  boost::json::object values;
  text_places places;
};

/// Why a text could not be parsed.
struct config_text_error {
  std::string text;
  text_place at; ///< not known if `text` contains it
};

using config_text_result = std::variant<config_text, config_text_error>;

} // namespace belay::actors
