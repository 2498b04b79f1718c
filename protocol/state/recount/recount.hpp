#pragma once
// Recomputes from the rows what the tables derive from them (maps/kept_beside.hpp).

#include "protocol/state/tables.hpp"

#include <optional>
#include <string>

namespace belay::state {

/// Independent of the code that maintains them: computes each member by its definition.
/// Also checks references between rows: the session of a lock, the service of an index.
/// @returns the first difference: table and member; nullopt: there is none
std::optional<std::string> recount(const tables& t);

} // namespace belay::state
