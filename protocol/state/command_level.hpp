#pragma once
// Which feature level a whole command needs.

#include "protocol/state/commands.hpp"
#include "protocol/state/feature_levels.hpp"

namespace belay::state {

/// Of what is to be written, in whoever's name it is given.
inline feature_level level_of(const plain_command& c) {
  return std::visit([](const auto& each) { return level_of(each.tag); }, c);
}

} // namespace belay::state
