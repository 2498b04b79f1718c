#pragma once
// Evaluates queries on the tables: content and order by
// docs/contract/03, 04, 07 and 08; indexes by docs/contract/02.

#include "protocol/state/machine.hpp"
#include "protocol/state/tables.hpp"

namespace belay::state {

query_result answer(const tables& t, const query& q);
/// The index that answer() would return, at least 1.
log_index answer_index(const tables& t, const query& q);

} // namespace belay::state
