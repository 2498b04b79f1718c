#pragma once
// Loads the stored window of changes, after the tables of the same checkpoint.

#include "protocol/base/result.hpp"
#include "protocol/state/kept_changes.hpp"

namespace belay::state {

struct tables;

/// @param list changes from `floor` to the tables' entry, in order; where goes_on, `before` is null
/// @returns an error, without loading any, unless they are in order and lead to these tables
status load_kept(tables& t, log_index floor, std::vector<kept_change> list);

} // namespace belay::state
