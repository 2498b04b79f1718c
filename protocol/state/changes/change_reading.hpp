#pragma once
// Evaluates queries about changes of keys and earlier states of
// keys. protocol/state/acl/permissions.hpp filters the result.

#include "protocol/state/tables.hpp"

#include <optional>
#include <string>
#include <vector>

namespace belay::state {

/// The result's index is that of the position reached.
query_result changes_answer(const tables& t, const kv_changes& q);
/// Returns the row in kv_entries, or change_rows if the index is below the floor or too new.
query_result changes_answer(const tables& t, const kv_at& q);
query_result changes_answer(const tables& t, const kv_history& q);

/// The snapshot that `q` requests, without its rows; nullopt: the result has none.
std::optional<change_rows> snapshot_without_rows(const tables& t, const kv_changes& q);
/// Sorted, without those that begin with another one.
std::vector<std::string> without_nested(std::vector<std::string> prefixes);

} // namespace belay::state
