#pragma once
// Permissions that each command needs, given those of a token (docs/contract/10, sections 3, 4).

#include "protocol/state/tables.hpp"

namespace belay::state {

/// Whether an operation on a key is permitted: alone, in a transaction, in OnEnd. Reads of
/// rows always are.
bool may_write_key(const acl::authorizer& may, const kv_op& op);

/// Why the command is not permitted; nullopt: it is. Does not reject commands that
/// will fail anyway for what they request. Transactions: refused_operations().
std::optional<std::string> writing_denied(const tables& t, const acl::authorizer& may, const command& c);

/// An error for each operation that is invalid in itself or not permitted; none: all are permitted.
/// Reads of rows are permitted: hidden rows are removed from the results.
/// @param now for lock-delays
txn_reply refused_operations(const tables& t, const acl::authorizer& may, const txn& c, cluster_time now);

} // namespace belay::state
