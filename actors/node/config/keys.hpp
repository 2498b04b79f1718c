#pragma once
// The only list of configuration keys: their types, and whether they have an effect.
// Sources are checked against it, and docs/reference/configuration.md is generated from it.

#include "actors/node/config/problems.hpp"
#include "actors/node/config/text.hpp"
#include "protocol/base/renamed_names.hpp"

#include <boost/json/object.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::actors {

/// `definitions`: an object or a list of them, checked by their decoders; all sources are combined.
enum class config_kind { boolean, integer, text, duration, list, text_map, section, opaque, definitions };

enum class config_effect {
  /// Decoded into node_config, and used from there.
  effective,
  /// The node does not start if it is set to something relevant (refused_protection in checks.hpp).
  refused,
  /// Known and accepted. The warning names it if it is set to something relevant.
  none,
  /// Known and accepted: the node works as if it were true. The warning names it if it is false.
  as_if_true,
  /// Known, accepted, and satisfied without doing anything.
  silent,
};

struct config_key {
  std::string_view path; ///< `ports.http`; `*` matches any name, in sections whose members have free names
  config_kind kind;
  config_effect effect;
  bool reloaded = false; ///< a change takes effect when the configuration is read again (with_reloaded in reloader.hpp)
};

std::span<const config_key> config_keys();

/// Finds a key by its path in the table. nullptr: none. All keys below an opaque one are known.
const config_key* find_config_key(std::string_view path);

/// A parsed configuration: present names of keys in lower case, values of the right types, and the
/// location of each in its file.
struct placed_config {
  boost::json::object values;
  source_locations locations;
  std::vector<const renamed_name*> old_names = {}; ///< the old names that it uses, each once
};

/// Converts keys to lower case and old names to present ones, and checks names and types of one
/// source. Omits invalid ones. Different values under both names of a key are an error.
placed_config check_config_source(const std::string& source, const config_text& text, config_problems& problems);

/// Later values replace earlier ones; lists are appended; sections and maps are merged by key.
void merge_config(placed_config& into, const placed_config& later);

/// Paths of keys in a checked configuration that are set and have no effect, sorted.
std::vector<std::string> keys_without_effect(const boost::json::object& config);

/// Paths of effective keys without reload whose values differ; sorted. Values may be secret.
std::vector<std::string> keys_for_the_next_start(const boost::json::object& before, const boost::json::object& now);

} // namespace belay::actors
