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

/// What is different between two configurations, for the log.
struct member_change {
  enum class kind : std::uint8_t {
    added,     ///< with a vote or without one
    removed,   ///< it may have had a vote
    got_vote,  ///< it was a member without one
    lost_vote, ///< it stays a member
    renamed    ///< it has another name, address or UUID
  };
  kind what;
  member who; ///< as it is now; removed: as it was
  bool votes; ///< now; removed: before

  bool operator==(const member_change&) const = default;
};
/// By id; of one member first the change of its name, then that of its vote. During joint consensus a member votes if
/// it does in either half.
std::vector<member_change> changes_between(const configuration& before, const configuration& after);
/// One change in words: "belay-2 (UUID) at HOST:PORT gets a vote".
std::string text_of(const member_change& c);

// id (8), uuid, name, address (varint length, bytes)
void put_member(byte_writer& w, const member& m);
member get_member(byte_reader& r);

} // namespace belay::raft
