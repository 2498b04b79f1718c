#pragma once
// Every key a configuration may contain, its type, and whether it does anything here. The one list of them: sources are
// checked against it, and docs/configuration.md is made from it.

#include "actors/node/config/problems.hpp"
#include "actors/node/config/text.hpp"

#include <boost/json/object.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::actors {

/// `definitions`: an object or a list of them, checked by whoever decodes them; those of all sources count.
enum class config_kind { boolean, integer, text, duration, list, text_map, section, opaque, definitions };

enum class config_effect {
  /// Decoded into node_config, and read from there.
  effective,
  /// The node does not start if it is set to something that would matter (refused_protection in checks.hpp).
  refused,
  /// Known and accepted. Named in the warning if it is set to something that would matter.
  none,
  /// Known and accepted: the node works as if it were true. Named in the warning if it is false.
  as_if_true,
  /// Known, accepted, and right as it is without doing anything.
  silent,
};

struct config_key {
  std::string_view path; ///< `ports.http`; `*` stands for any name, of sections that have names of their own
  config_kind kind;
  config_effect effect;
  std::string_view means = {}; ///< a line of docs/configuration.md (Markdown); empty where the effect says it all
  bool reloaded = false; ///< a change takes effect when the configuration is read again (with_reloaded in reloader.hpp)
};

std::span<const config_key> config_keys();

/// Of a path as it stands in the table. nullptr: there is none. Below an opaque key everything is known.
const config_key* find_config_key(std::string_view path);

/// What is known of a configuration: keys in lower case, values of the right types, and where they were said.
struct placed_config {
  boost::json::object values;
  config_places places;
};

/// Brings keys to lower case and checks names and types of one source. What is wrong with it is left out.
placed_config check_config_source(const std::string& source, const config_text& text, config_problems& problems);

/// Later values replace earlier ones; lists are appended; sections and maps are merged key by key.
void merge_config(placed_config& into, const placed_config& later);

/// Paths of keys in a checked configuration that are set and have no effect, sorted.
std::vector<std::string> keys_without_effect(const boost::json::object& config);

/// Paths of keys with an effect, and none that is reloaded, whose values differ; sorted. No values: some are secrets.
std::vector<std::string> keys_for_the_next_start(const boost::json::object& before, const boost::json::object& now);

} // namespace belay::actors
