#pragma once
// Answers queries from the tables: content and order by docs/contract/03, 04, 07 and 08; indexes by
// docs/contract/02.

#include "protocol/state/tables.hpp"

namespace belay::state {

query_result answer(const tables& t, const query& q);
/// Index that answer() would give, at least 1.
log_index answer_index(const tables& t, const query& q);

} // namespace belay::state
