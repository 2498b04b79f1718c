#pragma once
// Which permissions each command needs, given what the token may do (docs/contract/10, sections 3 and 4).

#include "protocol/state/tables.hpp"

namespace belay::state {

/// Whether one operation on a key may be done, alone, in a transaction or when a session ends. Reads of rows may.
bool may_write_key(const acl::authorizer& may, const kv_op& op);

/// Why the command may not be given; nullopt: it may. Commands that will be refused anyway, for what they ask, are not refused here.
/// Transactions: refused_operations().
std::optional<std::string> writing_denied(const tables& t, const acl::authorizer& may, const command& c);

/// An error for each operation that is not permitted, and for those that are wrong in themselves; none: all are permitted.
/// Reads of rows are permitted: what may not be seen is taken out of the results.
/// @param now for lock-delays
txn_reply refused_operations(const tables& t, const acl::authorizer& may, const txn& c, cluster_time now);

} // namespace belay::state
