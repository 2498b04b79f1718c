#pragma once
// How sessions begin and end (docs/contract/04, sections 2.1 and 4).

#include "protocol/state/tables.hpp"

namespace belay::state {

/// @returns the session's id, or why it was refused.
reply create_session(applying& a, const session_record& wanted);
/// Ends the session with all that hangs on it; unknown ids are skipped.
void end_session(applying& a, std::string_view id);

} // namespace belay::state
