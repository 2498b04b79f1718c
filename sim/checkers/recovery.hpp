#pragma once
// What a healed cluster waits for until it converges: explains a slow recovery without its trace.

#include "sim/environment/cluster.hpp"

#include <set>

namespace belay::sim {

/// The current wait; the first of these that is true:
///
///   broken leader       the leader is among the nodes that stay broken, and does not know it
///   time-out            no healed node leads or requests votes
///   votes               a node requests votes
///   first entry         there is a leader; the first entry of its term is not committed
///   start               a healed node does not run: its disk is damaged
///   admission           a healed node is not a member: its disk was lost, or it is new
///   leader unheard      a healed node does not follow the leader yet
///   snapshot            a follower needs one
///   entries             a follower lacks entries
///   applying            all entries are everywhere, and not applied everywhere
///
/// sim/run.cpp adds (disk hangs) while a disk call of a healed node takes much longer than others,
/// or (late frames) while frames that were delayed before the healing are in flight.
const char* awaited(const cluster& nodes, const std::set<std::size_t>& healed);

} // namespace belay::sim
