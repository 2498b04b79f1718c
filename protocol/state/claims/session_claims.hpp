#pragma once
// What the end of a session does: the operations of OnEnd, the end of its claims, a record of the
// end (docs/reference/claims.md, rules 17 to 19 and 22).

#include "protocol/state/tables.hpp"

namespace belay::state {

/// Why the session cannot have this OnEnd and TTL mode; nullopt: it can.
std::optional<claim_refusal> wrong_with(const session_begin& c);

/// Runs its OnEnd in order, while it still holds everything. Counts the operations in `row`.
void do_on_end(applying& a, const session_record& s, ended_session& row);

/// Ends the session's claims: holders become delayed holders or disappear, waits end. `row` gets
/// their numbers.
void end_claims_of(applying& a, const session_record& s, ended_session& row);

/// Adds a name that it held.
void note_released(ended_session& row, const resource_name& of);

} // namespace belay::state
