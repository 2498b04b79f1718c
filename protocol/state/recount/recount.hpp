#pragma once
// Counts what the tables keep beside their rows again from the rows (maps/kept_beside.hpp).

#include "protocol/state/tables.hpp"

#include <optional>
#include <string>

namespace belay::state {

/// Independently of the code that keeps them up to date: each member is computed by its definition. Also looks at what
/// rows say of other rows: the session of a lock, the service of an index.
/// @returns the first difference: table and member; nullopt: there is none
std::optional<std::string> recount(const tables& t);

} // namespace belay::state
