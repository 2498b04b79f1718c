#pragma once
// What a session leaves: OnEnd, its claims, and that it is remembered (docs/claims.md, rules 17 to 19 and 22).

#include "protocol/state/tables.hpp"

namespace belay::state {

/// Why the session cannot begin with this OnEnd and this TTL mode; nullopt: it can.
std::optional<claim_refusal> wrong_with(const session_begin& c);

/// Its OnEnd, one operation after the other. It has all that it holds still. Counts them in `row`.
void do_on_end(applying& a, const session_record& s, ended_session& row);

/// Its claims: holders become ghosts or nothing, waits end. Counts what it held in `row`.
void end_claims_of(applying& a, const session_record& s, ended_session& row);

/// One more name of what it held.
void note_released(ended_session& row, const resource_name& of);

} // namespace belay::state
