#pragma once
// Every key a configuration may contain, its type, and whether it does anything here.

#include <boost/json/object.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace belay::actors {

/// `definitions`: an object or a list of them, checked by whoever decodes them; those of all sources count.
enum class config_kind { boolean, integer, text, duration, list, text_map, section, opaque, definitions };

enum class config_effect {
  effective,
  /// Known and accepted. Named in the warning if it is set to something that would matter.
  none,
  /// Known, accepted, and right as it is without doing anything.
  silent,
};

struct config_key {
  std::string_view path; ///< `ports.http`
  config_kind kind;
  config_effect effect;
};

/// nullptr: unknown. Below an opaque key everything is known.
const config_key* find_config_key(std::string_view path);

/// Brings keys to lower case and checks names and types of one source.
/// @returns empty, or the complaint as Consul words it (`1 error occurred:` ...).
std::string check_config_source(boost::json::object& source);

/// Later values replace earlier ones; lists are appended; sections and maps are merged key by key.
void merge_config(boost::json::object& into, const boost::json::object& later);

/// Paths of keys in a checked configuration that are set and have no effect, sorted.
std::vector<std::string> keys_without_effect(const boost::json::object& config);

} // namespace belay::actors
