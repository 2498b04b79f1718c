#pragma once
// Finds the commands that end expired sessions.

#include "protocol/state/commands.hpp"

#include <string>
#include <variant>
#include <vector>

namespace belay::sim {

/// The sessions that the leader's timers end; the command may have the form that older servers get.
/// null: none.
inline const std::vector<std::string>* ended_by_timers(const state::command& c) {
  if (const auto* e = std::get_if<state::session_expire>(&c))
    return &e->ids;
  const auto* d = std::get_if<state::session_destroy>(&c);
  return d != nullptr && d->cause == "ttl" ? &d->ids : nullptr;
}

} // namespace belay::sim
