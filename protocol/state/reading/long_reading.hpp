#pragma once
// Reads in slices: the results of reading.hpp, for reads of many rows, which would delay others.

#include "protocol/state/machine.hpp"
#include "protocol/state/tables.hpp"

namespace belay::state {

/// Implements machine::begin_long_read().
/// @param rows_min a read of fewer rows is not long. A row that needs look-ups in other tables
/// counts as several.
/// @returns null: it is not long, or rejected: call visible_answer()
std::unique_ptr<long_read> begin_long_read(const tables& t, const query& q, cluster_time now, std::size_t rows_min);

} // namespace belay::state
