#pragma once
// Transactions: evaluates every operation, reports every failure,
// and commits either all operations or none (docs/contract/05).

#include "protocol/state/tables.hpp"

#include <optional>
#include <variant>

namespace belay::state {

/// First stage (docs/contract/05, section 2): keys, arguments, lock delays. Errors skip the second.
std::vector<txn_error> early_errors(const tables& t, const txn& c, cluster_time now);

/// Runs both stages. After errors, tables, indexes and effects are unchanged.
txn_reply run_transaction(applying& a, const txn& c);
/// The same for read-only operations; writes are errors. A refusal: it would read too many rows.
std::variant<txn_reply, refusal> read_transaction(const tables& t, const txn& c);
/// Whether its size depends on how many keys there are.
bool reads_trees(const txn& c);
/// Before proposing: rejects a write for the size of its reply. Counts rows as of now.
std::optional<refusal> refused_for_reads(const tables& t, const txn& c);

} // namespace belay::state
