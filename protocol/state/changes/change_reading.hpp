#pragma once
// Evaluates queries about changes of keys and earlier states of
// keys. protocol/state/acl/permissions.hpp filters the result.

#include "protocol/state/tables.hpp"

namespace belay::state {

/// The result's index is that of the position reached.
query_result changes_answer(const tables& t, const kv_changes& q);
/// Returns the row in kv_entries, or change_rows if the index is below the floor or too new.
query_result changes_answer(const tables& t, const kv_at& q);
query_result changes_answer(const tables& t, const kv_history& q);

} // namespace belay::state
