#include "sim/record/semaphore_recipes.hpp"

#include <algorithm>

namespace belay::sim {

std::vector<std::string> holders_in(std::string_view value) {
  value = value.substr(0, value.find(';'));
  std::vector<std::string> found;
  while (!value.empty()) {
    const auto end = std::min(value.find(','), value.size());
    found.emplace_back(value.substr(0, end));
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return found;
}

} // namespace belay::sim
