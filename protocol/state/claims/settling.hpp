#pragma once
// What is due is ended at the beginning of an entry, and who fits is let in at its end (docs/claims.md, rules 12 to 14).

#include "protocol/state/tables.hpp"

namespace belay::state {

/// Ends what is over: waits past their deadline, ghosts, lock delays, remembered ends; expired_at_once_max at most. Where claims are not in use:
/// all lock delays that are over, as ever.
void end_what_is_due(applying& a);

/// The grant rule, once for each resource that was touched, in the order of their names.
void let_in(applying& a);

/// The waiter may no longer write the name: its token is gone, or its policies say so (docs/claims.md, rule 33).
bool is_disallowed(const applying& a, const claim_record& waiter);

/// After policies, roles or tokens changed: ends waiters that are disallowed, of the first disallowed_looked_at_max resources and waiters. Others
/// leave when they are the first of their queue.
void end_disallowed(applying& a);

/// machine::next_alarm()
std::optional<cluster_time> next_alarm(const tables& t);

} // namespace belay::state
