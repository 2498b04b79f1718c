#pragma once
// Collects all errors of a configuration before they are reported.

#include "actors/node/config/source_locations.hpp"

#include <string>
#include <vector>

namespace belay::actors {

struct config_problem {
  enum class kind {
    unreadable,  ///< a source that cannot be opened; `text` is complete
    malformed,   ///< a source that cannot be parsed
    unknown_key, ///< in a source
    wrong_type,  ///< in a source
    value,       ///< value of a key, regardless of other keys
    whole,       ///< keys that are missing, or contradict each other
  };
  kind is = kind::whole;
  std::string source; ///< with the error; empty for `value` and `whole`
  std::string text;
  source_location at;
  std::string key = {}; ///< its path; of `wrong_type` only
};

class config_problems {
public:
  void add(config_problem p) { list_.push_back(std::move(p)); }
  bool none() const { return list_.empty(); }
  const std::vector<config_problem>& list() const { return list_; }

  /// Text for people: Consul's, each with ` (FILE:LINE:COLUMN)` if known. One error, or several of
  /// one kind in a source, look like Consul's; others are `N errors occurred:` and a line for each.
  std::string shown() const;

private:
  std::vector<config_problem> list_;
};

} // namespace belay::actors
