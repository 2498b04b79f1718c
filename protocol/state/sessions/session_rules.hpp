#pragma once
// How sessions are created and ended (docs/contract/04, sections 2.1 and 4).

#include "protocol/state/tables.hpp"

namespace belay::state {

/// @returns the session's id, or why it was rejected.
reply create_session(applying& a, const session_record& wanted);
/// The same with features that servers without claims lack (docs/reference/claims.md, rules 19 and 20).
reply create_session(applying& a, const session_begin& c);
/// Ends the session and releases its locks; skips unknown ids.
/// @param cause ended_session::cause
void end_session(applying& a, std::string_view id, const std::string& cause);

} // namespace belay::state
