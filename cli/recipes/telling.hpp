#pragma once
// What the library says of changes, for those who do not know it. Only for sources of this room.

#include "cli/recipes/told_changes.hpp"

#include <belay/changes.hpp>

#include <utility>

namespace belay::cli {

inline std::vector<told_change> told(std::vector<key_change> changes) {
  std::vector<told_change> out;
  for (auto& c : changes) {
    const char* event = c.kind == change_kind::set ? "set" : c.kind == change_kind::erased ? "delete" : "expired";
    out.push_back({.event = event,
                   .id = position_of(c.place),
                   .place = std::move(c.place),
                   .key = std::move(c.key),
                   .value = std::move(c.value),
                   .session = std::move(c.session),
                   .flags = c.flags,
                   .previous_index = c.previous_index,
                   .index = c.index});
  }
  return out;
}

} // namespace belay::cli
