#pragma once
// Explains in a sentence for operators why a server has no leader: missing, conflicting servers.

#include "protocol/raft/formation.hpp"

#include <set>
#include <string>
#include <vector>

namespace belay::forward {

/// @param config of this server; empty: it belongs to no cluster yet
/// @param connected servers that this one can send to
/// @param named addresses of servers that it is configured to contact
/// @param disk_full of this server: with a full disk it cannot become leader
std::string why_leaderless(const raft::formation& f, const raft::configuration& config,
                           const std::set<node_id>& connected, const std::vector<std::string>& named,
                           bool disk_full = false);

} // namespace belay::forward
