#pragma once
// Rules about configurations (types.hpp): which ones are acceptable, and the two steps of joint consensus that lead
// from one set of servers to another.

#include "protocol/raft/types.hpp"

namespace belay::raft {

/// Lists are sorted and without duplicates; every id in them is a member's, and every member is in one of them; there
/// is a voter; no learner is also a (new) voter.
bool well_formed(const configuration& c);

/// The configuration for the first half of a change (dissertation 4.3): both sets of voters must agree. If the voters
/// stay the same, this is the target itself, and one step is enough. @pre both are well-formed and not joint
configuration first_step(const configuration& now, const configuration& target);

/// For the second half: the new set alone, without those who have no role in it any more. @pre joint.joint()
configuration second_step(const configuration& joint);

} // namespace belay::raft
