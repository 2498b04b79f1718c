#pragma once
// Answers questions about changes of keys, and about keys as they were. What the asker may not see is left out by
// protocol/state/acl/permissions.hpp.

#include "protocol/state/tables.hpp"

namespace belay::state {

/// The index that is answered is that of the place that was reached.
query_result changes_answer(const tables& t, const kv_changes& q);
/// The row in kv_entries; of an index that is below the floor, or not there yet, change_rows say so.
query_result changes_answer(const tables& t, const kv_at& q);
query_result changes_answer(const tables& t, const kv_history& q);

} // namespace belay::state
