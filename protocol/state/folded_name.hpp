#pragma once
// Names of nodes, services, checks: compared without case, shown as given (docs/contract/07).

#include "protocol/base/ascii_case.hpp"

#include <string>
#include <string_view>

namespace belay::state {

inline std::string folded(std::string_view name) {
  return lower_case(name);
}

/// Key of a service or check row: node and id, folded. NUL sorts
/// below every other byte, so rows are ordered by node, then by id.
inline std::string row_key(std::string_view node, std::string_view id) {
  std::string out = folded(node);
  out.push_back('\0');
  out += folded(id);
  return out;
}

inline bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

} // namespace belay::state
