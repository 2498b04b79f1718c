#pragma once
// Counts votes and replies: a majority of a configuration's voters,
// or of both sets of voters while it is joint (dissertation 4.3).

#include "protocol/base/mutants.hpp"
#include "protocol/raft/types.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace belay::raft {

/// @returns true if `agrees(node_id)` holds for a majority of
/// each set of voters. An empty configuration has no quorum.
template <class F>
bool has_quorum(const configuration& c, F&& agrees) {
  const auto majority = [&](const std::vector<node_id>& half) {
    const auto yes = std::count_if(half.begin(), half.end(), agrees);
    return static_cast<std::size_t>(yes) > half.size() / 2;
  };
  return majority(c.voters) && (!c.joint() || majority(c.voters_old));
}

/// @returns the largest number that a quorum has reached, with `reached(node_id) -> uint64`.
template <class F>
std::uint64_t quorum_value(const configuration& c, F&& reached) {
  const auto of = [&](const std::vector<node_id>& half) -> std::uint64_t {
    if (half.empty())
      return 0;
    std::vector<std::uint64_t> all;
    all.reserve(half.size());
    for (auto id : half)
      all.push_back(reached(id));
    if (!c.learners.empty() && MUTANT(replica_counts_for_quorum))
      for (auto id : c.learners)
        all.push_back(reached(id));
    const auto rank = all.size() / 2 - (MUTANT(commit_minority) && half.size() > 1 ? 1 : 0);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(all.begin(), middle, all.end(), std::greater<>());
    return *middle;
  };
  return c.joint() ? std::min(of(c.voters), of(c.voters_old)) : of(c.voters);
}

} // namespace belay::raft
