#pragma once
// A check of texts that people read.

#include <string>

namespace belay::sim::testing {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

} // namespace belay::sim::testing
