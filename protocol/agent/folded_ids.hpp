#pragma once
// IDs of an agent's services and checks, compared ignoring ASCII case (docs/contract/07).

#include "protocol/base/ascii_case.hpp"

#include <algorithm>
#include <string_view>

namespace belay::agent {

/// An order in which IDs that the catalog considers equal are equal.
struct folded_less {
  using is_transparent = void;

  bool operator()(std::string_view a, std::string_view b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
      return static_cast<unsigned char>(lower_case(x)) < static_cast<unsigned char>(lower_case(y));
    });
  }
};

inline bool same_id(std::string_view a, std::string_view b) {
  return equal_ignoring_case(a, b);
}

} // namespace belay::agent
