#pragma once
// Why a server has no leader, in one sentence for operators: who is missing, and who says something that does not fit.

#include "protocol/raft/formation.hpp"

#include <set>
#include <string>
#include <vector>

namespace belay::forward {

/// @param config as this server knows it; empty: it belongs to no cluster yet
/// @param connected servers that hear this one
/// @param named addresses of servers that it was told to look for
/// @param disk_full of this server: with a full disk nobody can become the leader
std::string why_leaderless(const raft::formation& f, const raft::configuration& config,
                           const std::set<node_id>& connected, const std::vector<std::string>& named,
                           bool disk_full = false);

} // namespace belay::forward
