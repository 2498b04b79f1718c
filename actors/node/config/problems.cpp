#include "actors/node/config/problems.hpp"
#include "protocol/go_compat/error_list.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

using kind = config_problem::kind;

std::string with_location(const config_problem& p) {
  const auto location = p.at.shown();
  return location.empty() ? p.text : p.text + " (" + location + ")";
}

std::string in_its_source(const config_problem& p) {
  const bool parsing = p.is == kind::malformed || p.is == kind::unknown_key || p.is == kind::wrong_type;
  return (parsing ? "failed to parse " + p.source + ": " : std::string()) + with_location(p);
}

template <class Shown>
std::string several(const std::vector<config_problem>& list, Shown shown) {
  std::vector<std::string> texts;
  for (const auto& p : list)
    texts.push_back(shown(p));
  return go_compat::error_list(texts);
}

/// Formats errors like github.com/mitchellh/mapstructure.
std::string decoding_errors(const std::vector<config_problem>& list) {
  auto text = std::to_string(list.size()) + " error(s) decoding:\n";
  for (const auto& p : list)
    text += "\n* " + with_location(p);
  return text;
}

} // namespace

std::string config_problems::shown() const {
  if (list_.empty())
    return {};
  const auto& first = list_.front();
  const bool alike = std::all_of(list_.begin(), list_.end(),
                                 [&](const config_problem& p) { return p.is == first.is && p.source == first.source; });
  if (alike && first.is == kind::unknown_key)
    return "failed to parse " + first.source + ": " + several(list_, with_location);
  if (alike && first.is == kind::wrong_type)
    return "failed to parse " + first.source + ": " + decoding_errors(list_);
  return list_.size() == 1 ? in_its_source(first) : several(list_, in_its_source);
}

} // namespace belay::actors
