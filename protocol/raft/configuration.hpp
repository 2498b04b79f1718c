#pragma once
// Rules about configurations (types.hpp): which ones are acceptable, and the two steps of joint consensus that lead
// from one set of servers to another. And the bytes of a member, which are the same wherever one is stored or sent.

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

/// The target without that server, whatever it is in it; as it was if it is not in it.
configuration without(configuration now, node_id id);

// id (8), uuid, name, address (varint length, bytes)
void put_member(byte_writer& w, const member& m);
member get_member(byte_reader& r);

} // namespace belay::raft
