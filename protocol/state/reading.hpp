#pragma once
// Evaluates queries on the tables: content and order by
// docs/contract/03, 04, 07 and 08; indexes by docs/contract/02.

#include "protocol/state/machine.hpp"
#include "protocol/state/tables.hpp"

namespace belay::state {

query_result answer(const tables& t, const query& q);
/// The index that answer() would return, at least 1.
log_index answer_index(const tables& t, const query& q);

/// Implements machine::begin_long_read(). @param rows_min a read of fewer keys is not long
/// @returns null: it is not long, or rejected: call visible_answer()
std::unique_ptr<long_read> begin_long_read(const tables& t, const query& q, cluster_time now, std::size_t rows_min);

} // namespace belay::state
