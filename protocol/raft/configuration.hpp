#pragma once
// What makes a configuration acceptable, and the two steps from one set of servers to another.

#include "protocol/raft/types.hpp"

namespace belay::raft {

/// Sorted, without duplicates, every id named as a member and every member in some role, a voter exists, no learner is
/// also a (new) voter.
bool well_formed(const configuration& c);

/// First half of a change (dissertation 4.3): both sets must agree. If the voters stay the same, this is the target
/// itself: one step is enough. @pre both are well-formed and not joint
configuration first_step(const configuration& now, const configuration& target);

/// Second half: the new set alone, without those who have no role in it any more. @pre joint.joint()
configuration second_step(const configuration& joint);

} // namespace belay::raft
