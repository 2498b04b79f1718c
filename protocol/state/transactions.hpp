#pragma once
// All or nothing: every operation is evaluated and every failure reported, and then either all or none is kept
// (docs/contract/05).

#include "protocol/state/tables.hpp"

#include <optional>
#include <variant>

namespace belay::state {

/// First stage (docs/contract/05, section 2): keys, arguments, lock delays. Not empty: nothing else is looked at.
std::vector<txn_error> early_errors(const tables& t, const txn& c, cluster_time now);

/// Both stages. After errors the tables, indexes and effects are as before.
txn_reply run_transaction(applying& a, const txn& c);
/// The same for operations that only read; an operation that writes is an error. A refusal: it reads too many rows.
std::variant<txn_reply, refusal> read_transaction(const tables& t, const txn& c);
/// A transaction that writes cannot be refused for its answer once it is done, so whoever proposes it asks before. Trees count as they are now.
std::optional<refusal> refused_for_trees(const tables& t, const txn& c);

} // namespace belay::state
