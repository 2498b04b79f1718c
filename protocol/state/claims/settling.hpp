#pragma once
// Entry begins: ends what is due. Entry ends: grants what fits (docs/reference/claims.md, rules 12 to 14).

#include "protocol/state/tables.hpp"

namespace belay::state {

/// Ends waits past their deadline, expired delayed holders, lock delays and remembered
/// ends; at most expired_at_once_max. Where claims are not in use: all expired lock delays.
void end_what_is_due(applying& a);

/// Runs the grant rule once for each touched resource, in the order of their names.
void let_in(applying& a);

/// Whether the waiter's token or its policies no longer permit the write (docs/reference/claims.md, rule 33).
bool is_disallowed(const applying& a, const claim_record& waiter);

/// After policies, roles or tokens changed: ends disallowed waiters among the first
/// disallowed_looked_at_max resources and waiters. Others leave at the head of their queue.
void end_disallowed(applying& a);

/// machine::next_alarm()
std::optional<cluster_time> next_alarm(const tables& t);

} // namespace belay::state
