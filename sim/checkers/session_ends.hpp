#pragma once
// Which commands end sessions because their time is over.

#include "protocol/state/commands.hpp"

#include <string>
#include <variant>
#include <vector>

namespace belay::sim {

/// Those that the leader's timers end, also as servers of older versions are told it. null: the command ends none for that.
inline const std::vector<std::string>* ended_by_timers(const state::command& c) {
  if (const auto* e = std::get_if<state::session_expire>(&c))
    return &e->ids;
  const auto* d = std::get_if<state::session_destroy>(&c);
  return d != nullptr && d->cause == "ttl" ? &d->ids : nullptr;
}

} // namespace belay::sim
