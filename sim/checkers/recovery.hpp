#pragma once
// What a healed cluster is waiting for while it has not converged, so that a slow recovery can be explained without its trace.

#include "sim/world/cluster.hpp"

#include <set>

namespace belay::sim {

/// At this moment; the first of these that is true:
///
///   broken leader       the leader is among the nodes that stay broken, and does not know it
///   time-out            nobody of the healed leads, nor asks for votes
///   votes               somebody asks for votes
///   first entry         there is a leader; the entry with which its term begins is not committed
///   start               a healed node does not run: its disk is damaged
///   admission           a healed node is not a member: its disk was lost, or it is new
///   leader unheard      a healed node does not follow the leader yet
///   snapshot            a follower needs one
///   entries             a follower lacks entries
///   applying            all entries are everywhere, and not applied everywhere
///
/// sim/run.cpp adds (disk hangs) or (late frames) while a call of a healed node's disk takes far longer than others, or frames
/// that were delayed before the healing are under way.
const char* awaited(const cluster& nodes, const std::set<std::size_t>& healed);

} // namespace belay::sim
