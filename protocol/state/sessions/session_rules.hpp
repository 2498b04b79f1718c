#pragma once
// How sessions begin and end (docs/contract/04, sections 2.1 and 4).

#include "protocol/state/tables.hpp"

namespace belay::state {

/// @returns the session's id, or why it was refused.
reply create_session(applying& a, const session_record& wanted);
/// The same with what servers without claims do not know (docs/claims.md, rules 19 and 20).
reply create_session(applying& a, const session_begin& c);
/// Ends the session with all that hangs on it; unknown ids are skipped. @param cause ended_session::cause
void end_session(applying& a, std::string_view id, const std::string& cause);

} // namespace belay::state
