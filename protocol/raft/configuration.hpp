#pragma once
// Rules for configurations (types.hpp): which are valid, and the two steps of joint consensus from
// one set of servers to another. Also the encoding of a member, wherever it is stored or sent.

#include "protocol/raft/types.hpp"

namespace belay::raft {

/// Whether it is valid: lists are sorted without duplicates, every id in them is a member's and
/// vice versa, there is a voter, and no learner is also a (new) voter.
bool well_formed(const configuration& c);

/// The configuration for the first half of a change (dissertation 4.3): both sets of voters must
/// agree. The target itself if voters do not change. @pre both are well-formed and not joint
configuration first_step(const configuration& now, const configuration& target);

/// The configuration of the second half: the new set alone, without members that lost their role.
/// @pre joint.joint()
configuration second_step(const configuration& joint);

/// The configuration without that server in any role; unchanged if it is not in it.
configuration without(configuration now, node_id id);

/// A difference between two configurations, for the log.
struct member_change {
  enum class kind : std::uint8_t {
    added,     ///< with or without a vote
    removed,   ///< a voter or not
    got_vote,  ///< it was a member without a vote
    lost_vote, ///< it stays a member
    renamed    ///< its name, address or UUID changed
  };
  kind what;
  member who; ///< as it is now; removed: as it was
  bool votes; ///< now; removed: before

  bool operator==(const member_change&) const = default;
};
/// Ordered by id; for each member, a rename before a change of its vote. During
/// joint consensus a member counts as a voter if it is one in either half.
std::vector<member_change> changes_between(const configuration& before, const configuration& after);
/// A change as text: "belay-2 (UUID) at HOST:PORT gets a vote".
std::string text_of(const member_change& c);

// id (8), uuid, name, address (varint length, bytes)
void put_member(byte_writer& w, const member& m);
member get_member(byte_reader& r);

} // namespace belay::raft
