#pragma once
// All that is wrong with a configuration, gathered before anybody is told.

#include "actors/node/config/places.hpp"

#include <string>
#include <vector>

namespace belay::actors {

struct config_problem {
  enum class kind {
    unreadable,  ///< a source that cannot be opened; `text` is complete
    malformed,   ///< a source that cannot be parsed
    unknown_key, ///< in a source
    wrong_type,  ///< in a source
    value,       ///< of a key, whatever the other keys say
    whole,       ///< of keys that are missing, or contradict each other
  };
  kind is = kind::whole;
  std::string source; ///< that says it; empty for `value` and `whole`
  std::string text;
  config_place at;
  std::string key = {}; ///< its path; of `wrong_type` only
};

class config_problems {
public:
  void add(config_problem p) { list_.push_back(std::move(p)); }
  bool none() const { return list_.empty(); }
  const std::vector<config_problem>& list() const { return list_; }

  /// For people: in Consul's words, each with ` (FILE:LINE:COLUMN)` behind it if that is known. One alone, and several of one kind in one
  /// source, are told as Consul tells them; others are `N errors occurred:` and a line for each.
  std::string shown() const;

private:
  std::vector<config_problem> list_;
};

} // namespace belay::actors
