#pragma once
// Converts the agent's flags to configuration keys.

#include "actors/node/config/node_config.hpp"

#include <boost/json/object.hpp>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace belay::actors {

struct agent_flags {
  bool dev = false;
  std::string format;               ///< -config-format: hcl, json or empty
  std::vector<std::string> files;   ///< -config-file and -config-dir, in order
  std::vector<std::string> inlined; ///< -hcl
  boost::json::object lists;        ///< merged before the files: lists are appended in this order
  boost::json::object values;       ///< merged after the files
};

/// The flag that sets the key at `path` (`http-port` of `ports.http`); empty if there is none.
std::string_view flag_of_key(std::string_view path);

std::variant<agent_flags, config_error> parse_agent_flags(const std::vector<std::string>& args);

} // namespace belay::actors
