#pragma once
// Puts what was kept of the window of changes back into it, behind the tables of the same checkpoint.

#include "protocol/base/result.hpp"
#include "protocol/state/kept_changes.hpp"

namespace belay::state {

struct tables;

/// @param list all changes of entries behind `floor` up to the one of the tables, in their order; `change.before` is null where one goes on
/// @returns a failure, and nothing is known of changes, if they are not in order or have not led to these tables
status load_kept(tables& t, log_index floor, std::vector<kept_change> list);

} // namespace belay::state
